"""PyTorch in several processes: two under torchrun, and those that fork, spawn and load data."""

LAUNCHER = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
STORIES = {
    "data_parallel": 8,
    "data_parallel_compiled": 8,
    "fully_sharded": 8,
    "tensor_parallel": 8,
    "pipeline": 4,
}
EQUAL = [f"{story} {count} gradients equal" for story, count in STORIES.items()]
RULES = "sign=arctan; round=sine; heaviside=boxcar"


def test_torchrun_gives_the_gradients_of_one_process(started):
    assert started("scale_torch.py", launcher=LAUNCHER) == EQUAL


def test_rules_from_the_environment_hold_in_every_process(started):
    found = started("scale_torch.py", "--by-environment", launcher=LAUNCHER, env={"SURROGATE_RULES": RULES})
    assert found == EQUAL


def test_after_a_worker_died_training_goes_on_as_in_one_process(started, tmp_path):
    launcher = (*LAUNCHER, "--max-restarts", "1")
    found = started(
        "elastic_torch.py", str(tmp_path), launcher=launcher, env={"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
    )
    assert found == ["after 1 restart: 8 weights equal"]


WORKERS = [
    "spawned, handed 1.0",
    "forked, handed 1.0",
    "loader, spawned [1.0, 1.0, 1.0, 1.0]",
    "forked inside 1.0",
    "loader, forked inside [1.0, 1.0, 1.0, 1.0]",
]


def test_worker_processes_have_what_they_are_given(started):
    assert started("workers_torch.py") == WORKERS


def test_worker_processes_have_the_rules_of_the_environment(started):
    assert started("workers_torch.py", env={"SURROGATE_RULES": "sign=hardtanh"}) == WORKERS
