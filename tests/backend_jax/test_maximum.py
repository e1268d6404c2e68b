"""``maximum`` and ``minimum``: every spelling is caught, and what JAX does with them inside stays native."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import surrogate

X = jnp.array([[0.5, -0.3, 7.2], [1.0, 0.1, -2.0]])

SPELLINGS = {
    "jnp": lambda x: jnp.maximum(x, 1.0),
    "lax": lambda x: lax.max(x, jnp.ones_like(x)),
    "jit": jax.jit(lambda x: jnp.maximum(x, 1.0)),
    "vmap": jax.vmap(lambda x: jnp.maximum(x, 1.0)),
    "scan": lambda x: lax.scan(lambda c, row: (c, jnp.maximum(row, 1.0)), 0.0, x)[1],
}

NATIVE = {
    "relu": jax.nn.relu,
    "relu6": jax.nn.relu6,
    "clip": lambda x: jnp.clip(x, -1, 1),
    "clamp": lambda x: lax.clamp(-1.0, x, 1.0),
    "max": jnp.max,
    "amax": lambda x: jnp.amax(x, axis=0),
    "softmax": jax.nn.softmax,
    "logsumexp": jax.nn.logsumexp,
    "leaky_relu": jax.nn.leaky_relu,
    "hard_tanh": jax.nn.hard_tanh,
    "logaddexp": lambda x: jnp.logaddexp(x, x * x),
    "percentile": lambda x: jnp.percentile(x, 30.0),
    "cummax": lax.cummax,
    "nanmax": jnp.nanmax,
    "norm": jnp.linalg.norm,
}


def both(xp, x, y):
    return 50.0, 70.0


def gradient(f):
    return jax.grad(lambda x: jnp.sum(f(x)))(X)


@pytest.mark.parametrize("name", SPELLINGS)
def test_every_spelling(name):
    native = SPELLINGS[name](X)
    with surrogate.override("jax", {"maximum": both, "minimum": both}) as used:
        assert gradient(SPELLINGS[name]).tolist() == [[50.0] * 3] * 2
        hits = used.hits
        np.testing.assert_array_equal(SPELLINGS[name](X), native)
    assert hits["maximum"] >= 1  # a scan traces its body twice
    assert hits["minimum"] == 0


def test_the_second_operand():
    with surrogate.override("jax", {"minimum": both}):
        assert gradient(lambda x: jnp.minimum(1.0, x)).tolist() == [[70.0] * 3] * 2


@pytest.mark.parametrize("name", NATIVE)
def test_what_jax_does_with_them_inside_stays_native(name):
    expected = gradient(NATIVE[name])
    nothing = pytest.warns(surrogate.NothingCapturedWarning)
    with nothing, surrogate.override("jax", {"maximum": both, "minimum": both}) as used:
        np.testing.assert_array_equal(gradient(NATIVE[name]), expected)
    assert used.hits == {"maximum": 0, "minimum": 0}
