"""What ``jit`` is given may carry a jnp function's name and be something else: the op inside is captured."""

import contextlib
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax_formulas import gradient_of, square

import surrogate


def planes(xp, x, y):
    return x * x, x * y


@functools.wraps(jnp.sign)
def twice(x):
    return 2 * jnp.sign(x)


@functools.wraps(jnp.sign)
def native(x):
    with surrogate.override("jax", {"sign": "native"}):
        return jnp.sign(x)


ROWS = jnp.asarray([1.0, 2.0])
#: Jitted functions named as a jnp function -> their value and derivative, x*x being the derivative of the op.
JITTED = {
    "grad": (jax.vmap(jax.jit(jax.grad(jnp.sign))), np.square, lambda x: 2 * x),
    "value_and_grad": (jax.vmap(jax.jit(jax.value_and_grad(jnp.sign))), None, lambda x: x * x + 2 * x),
    "wrapped": (jax.jit(twice), lambda x: 2 * np.sign(x), lambda x: 2 * x * x),
    "native_inside": (jax.jit(native), np.sign, np.zeros_like),
    "partial_clip": (
        jax.jit(functools.partial(jnp.clip, min=-0.5, max=0.5)),
        lambda x: np.clip(x, -0.5, 0.5),
        np.square,
    ),
    "static_clip": (
        lambda x: jax.jit(jnp.clip, static_argnums=(1, 2))(x, -0.5, 0.5),
        lambda x: np.clip(x, -0.5, 0.5),
        np.square,
    ),
    "partial_mod": (
        jax.jit(functools.partial(jnp.remainder, 2.0)),
        lambda x: np.mod(np.float32(2), x),
        lambda x: 2 * x,
    ),
    "outer_mod": (
        lambda x: jax.jit(jax.vmap(jnp.remainder, (0, None)))(x, ROWS).sum(1),
        lambda x: np.mod(x, 1) + np.mod(x, 2),
        lambda x: 2 * x * x,
    ),
    "jit": (jax.jit(jax.jit(jnp.sign)), np.sign, np.square),
    "vmap": (jax.jit(jax.vmap(jnp.sign)), np.sign, np.square),
    "checkpoint": (jax.jit(jax.checkpoint(jnp.sign)), np.sign, np.square),
    "static_round": (
        lambda x: jax.jit(jnp.round, static_argnames="decimals")(x, decimals=0),
        np.round,
        np.square,
    ),
}
RULES = {"sign": square, "clip": lambda xp, x, lo, hi: (x * x, 3.0, 5.0), "mod": planes, "round": square}


@pytest.mark.parametrize(("name", "f", "value", "slope"), [(n, *c) for n, c in JITTED.items()], ids=JITTED)
def test_value_and_derivative(name, f, value, slope, x):
    native = pytest.warns(surrogate.NothingCapturedWarning, match="leaves sign native")
    told = native if name == "native_inside" else contextlib.nullcontext()
    with told, surrogate.override("jax", RULES):
        y, pull = jax.vjp(f, x)
        found = pull(jax.tree.map(jnp.ones_like, y))[0]
    if value is not None:
        np.testing.assert_array_equal(y, value(np.asarray(x)))
    np.testing.assert_array_equal(found, slope(np.asarray(x)))


def test_a_jit_of_a_jnp_function_is_counted_once(x):
    with surrogate.override("jax", {"sign": square}) as active:
        gradient_of(jax.jit(lambda x: jax.jit(jax.vmap(jnp.sign))(x)))(x)
    assert active.hits == {"sign": 1}
