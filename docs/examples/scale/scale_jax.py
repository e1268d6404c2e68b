"""JAX on two processes of four devices each: the same gradients as on one device.

    python scale_jax.py            starts both processes on this machine, as a launcher would
    python scale_jax.py one        the same with one process of eight devices, and pmap

``surrogate.use`` stands at the top of what every process runs.
"""

import os
import socket
import subprocess
import sys

ROLE = sys.argv[1] if len(sys.argv) > 1 else "launch"
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={8 if ROLE == 'one' else 4}"

import jax  # noqa: E402 -- reads these
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import NamedSharding, PartitionSpec as P  # noqa: E402

import surrogate  # noqa: E402

RULES = {"sign": "arctan", "round": "sine", "clip": "leaky(leak=0.25)"}
DATA = np.linspace(-2, 2, 64, dtype=np.float32).reshape(16, 4)
WEIGHTS = np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)


def loss(w, x):
    h = x @ w
    return jnp.square(jnp.sign(h) + jnp.round(2 * h) + jnp.clip(h, -0.5, 0.5)).mean()


def placed(mesh, spec, x):
    """A global array of which each process holds its part."""
    return jax.make_array_from_callback(x.shape, NamedSharding(mesh, spec), lambda index: x[index])


def automatic(mesh):
    """The compiler places: a batch over one axis of the mesh, the weights' columns over the other."""
    step = jax.jit(jax.grad(loss))
    return step(placed(mesh, P(None, "model"), WEIGHTS), placed(mesh, P("data"), DATA))


def mapped(mesh):
    """Each device its own program, with the sum written out."""

    def local(w, x):
        return jax.lax.pmean(
            jax.grad(loss)(jax.lax.pcast(w, ("data", "model"), to="varying"), x), ("data", "model")
        )

    step = jax.jit(jax.shard_map(local, mesh=mesh, in_specs=(P(), P(("data", "model"))), out_specs=P()))
    return step(placed(mesh, P(), WEIGHTS), placed(mesh, P(("data", "model")), DATA))


def one_program_each():
    """``pmap``, on the devices of one process."""
    step = jax.pmap(lambda w, x: jax.lax.pmean(jax.grad(loss)(w, x), "i"), axis_name="i", in_axes=(None, 0))
    return step(WEIGHTS, DATA.reshape(8, 2, 4))[0]


def check(name, found, expected):
    for shard in found.addressable_shards:  # what this process holds
        np.testing.assert_allclose(shard.data, expected[shard.index], rtol=1e-5, atol=1e-6)
    if jax.process_index() == 0:
        print(name, len(found.addressable_shards), "shards equal", flush=True)


def work():
    surrogate.use("jax", RULES)
    expected = np.asarray(jax.grad(loss)(WEIGHTS, DATA))  # on one device
    assert np.abs(expected).max() > 0.01
    mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
    check("automatic", automatic(mesh), expected)
    check("shard_map", mapped(mesh), expected)
    if ROLE == "one":
        np.testing.assert_allclose(one_program_each(), expected, rtol=1e-5, atol=1e-6)
        print("pmap equal")


def launch():
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = str(free.getsockname()[1])
    processes = [subprocess.Popen([sys.executable, __file__, str(rank), port]) for rank in range(2)]
    sys.exit(max(process.wait() for process in processes))


if __name__ == "__main__":
    if ROLE == "launch":
        launch()
    if ROLE != "one":
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(f"localhost:{sys.argv[2]}", num_processes=2, process_id=int(ROLE))
    work()
