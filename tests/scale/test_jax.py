"""JAX in two processes that reduce over gloo, and on eight devices of one."""


def own(lines):
    """What the script printed: gloo prints too."""
    return [line for line in lines if not line.startswith("[Gloo]")]


def test_two_processes_give_the_gradients_of_one_device(started):
    assert own(started("scale_jax.py")) == ["automatic 4 shards equal", "shard_map 4 shards equal"]


def test_eight_devices_of_one_process(started):
    found = own(started("scale_jax.py", "one"))
    assert found == ["automatic 8 shards equal", "shard_map 8 shards equal", "pmap equal"]
