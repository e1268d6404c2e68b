"""Rules by place in JAX."""

from typing import ClassVar

import jax
import jax.numpy as jnp
from places import CompiledCases, code  # noqa: F401 -- a fixture


class TestPlaces(CompiledCases):
    backend = "jax"
    imports = "import jax\nimport jax.numpy as np\nstop = jax.lax.stop_gradient\n"
    modes: ClassVar = {"eager": lambda f: f, "jit": jax.jit, "remat": jax.checkpoint}
    shared = staticmethod(jax.jit(jnp.round))

    @staticmethod
    def slope(f):
        x = jnp.array([0.2, 0.7, 1.4, 2.6])
        return jax.grad(lambda x: f(x).sum())(x).tolist()
