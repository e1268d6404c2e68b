"""Loading the backend starts no JAX backend: devices and processes can be configured after it."""

import os
import socket
import subprocess
import sys
import textwrap

import pytest

WAYS = {
    "import": "import surrogate_jax",
    "use": "surrogate.use('jax', {'sign': 'hardtanh'})",
    "override": "surrogate.override('jax', {'sign': 'hardtanh'}).__enter__()",
    "defaults": "surrogate.defaults('jax')",
    "load_backend": "surrogate.load_backend('jax')",
}


def run(script):
    env = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    subprocess.run([sys.executable, "-c", script], check=True, env=env)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_devices_can_be_configured_after(way):
    run(
        textwrap.dedent(
            f"""
            import jax, surrogate
            {way}
            from jax._src import xla_bridge
            assert not xla_bridge.backends_are_initialized()
            jax.config.update("jax_num_cpu_devices", 3)
            jax.config.update("jax_default_prng_impl", "rbg")
            assert jax.device_count() == 3
            """
        )
    )


def test_processes_can_be_joined_after():
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    run(
        textwrap.dedent(
            f"""
            import jax, surrogate
            surrogate.use("jax")
            jax.distributed.initialize("localhost:{port}", num_processes=1, process_id=0)
            assert jax.process_count() == 1
            assert jax.grad(jax.numpy.sign)(0.5) == 1
            jax.distributed.shutdown()
            """
        )
    )
