"""Every way of losing a gradient in JAX: eager, jit, scan, fori_loop, cond, vmap, remat: the exact line."""

import jax.numpy as jnp
import pytest
from losing import names_the_line, program, table

IMPORTS = "import jax\nimport jax.numpy as jnp\nimport numpy as np\nfrom jax import lax"

WAYS = {
    "sign": "g = jnp.sign(h)  #!",
    "round": "g = jnp.round(h)  #!",
    "floor": "g = jnp.floor(h)  #!",
    "ceil": "g = jnp.ceil(h)  #!",
    "trunc": "g = jnp.trunc(h)  #!",
    "heaviside": "g = jnp.heaviside(h, 0.5)  #!",
    "floor_divide": "g = h // 0.5  #!",
    "comparison": "g = (h > 0.1).astype(h.dtype)  #!",
    "cast": "g = h.astype(int).astype(h.dtype)  #!",
    "argmax": "g = jnp.argmax(h, -1).astype(h.dtype)  #!",
    "argsort": "g = jnp.argsort(h).astype(h.dtype)  #!",
    "stop_gradient": "g = lax.stop_gradient(h)  #!",
    "pure_callback": "g = jax.pure_callback(np.tanh, h, h, vmap_method='expand_dims')  #!",
    "numpy": "g = np.tanh(np.asarray(h))  #!",
    "item": "g = float(jnp.sum(h))  #!",
}

SURROUNDINGS = {
    "eager": "def program(w, b):\n    h = w * 2.0\n    @@\n    return jnp.sum(g * b)",
    "jit": "@jax.jit\ndef program(w, b):\n    h = w * 2.0\n    @@\n    return jnp.sum(g * b)",
    "remat": "@jax.checkpoint\ndef program(w, b):\n    h = w * 2.0\n    @@\n    return jnp.sum(g * b)",
    "scan": """def program(w, b):
    def step(total, row):
        h = row * 2.0
        @@
        return total + jnp.sum(g * b), None

    return lax.scan(step, 0.0, w)[0]""",
    "fori_loop": """def program(w, b):
    def step(n, total):
        h = w * 2.0
        @@
        return total + jnp.sum(g * b)

    return lax.fori_loop(0, 2, step, 0.0)""",
    "cond": """def program(w, b):
    def taken(h):
        @@
        return jnp.sum(g * b)

    return lax.cond(b > 0, taken, lambda h: jnp.sum(h), w * 2.0)""",
    "vmap": """def program(w, b):
    def one(row):
        h = row * 2.0
        @@
        return jnp.sum(g * b)

    return jnp.sum(jax.vmap(one)(w))""",
}


@pytest.mark.parametrize(("surrounding", "way"), table(WAYS, SURROUNDINGS))
def test_the_line_that_loses_a_gradient_is_named(surrounding, way, tmp_path):
    module, at = program(tmp_path, IMPORTS, SURROUNDINGS[surrounding], WAYS[way])
    w, b = jnp.array([[0.3, -0.7, 1.2], [0.4, 0.9, -1.6]]), jnp.array(1.5)
    names_the_line("jax", module, at, "arg0", w, b, argnums=(0, 1))
