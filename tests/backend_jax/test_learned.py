"""Learned parameters of a gradient: arguments of what JAX differentiates, beside the op's inputs."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import surrogate

RNG = np.random.default_rng(0)
X, G = RNG.normal(size=(3, 5)), RNG.normal(size=(3, 5))


@pytest.fixture(autouse=True)
def wide():
    with jax.enable_x64(True):
        yield


@pytest.fixture(params=[(), (3, 1)], ids=str)
def slope(request):
    return jnp.asarray(RNG.uniform(0.5, 2, request.param))


def under(op, function):
    def loss(x, slope):
        with surrogate.override("jax", {op: surrogate.gradient(op, "tanh", slope=slope)}):
            return (function(x) * G).sum()

    return loss


def primitive(x, slope):
    return (jnp.tanh(slope * x) * G).sum()


OURS = under("sign", jnp.sign)


def same(found, wanted):
    for ours, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)


MODES = {
    "eager": lambda f: jax.grad(f, (0, 1)),
    "jit of grad": lambda f: jax.jit(jax.grad(f, (0, 1))),
    "grad of jit": lambda f: jax.grad(jax.jit(f), (0, 1)),
    "by the slope alone": lambda f: jax.grad(f, 1),
    "forward": lambda f: jax.jacfwd(f, (0, 1)),
    "hessian": lambda f: jax.hessian(f, (0, 1)),
    "checkpoint": lambda f: jax.grad(jax.checkpoint(f), (0, 1)),
}


@pytest.mark.parametrize("mode", MODES)
def test_the_cotangent_is_that_of_the_primitive(slope, mode):
    x = jnp.asarray(X)
    same(MODES[mode](OURS)(x, slope), MODES[mode](primitive)(x, slope))


@pytest.mark.parametrize("axes", [(None, 0), (0, None), (0, 0)], ids=str)
def test_batches(slope, axes):
    args = [
        jnp.stack([v, v + 1]) if axis == 0 else v
        for v, axis in zip((jnp.asarray(X), slope), axes, strict=True)
    ]
    found, wanted = (jax.vmap(jax.grad(f, (0, 1)), axes)(*args) for f in (OURS, primitive))
    same(found, wanted)


def test_a_jitted_function_called_inside_is_not_stale(slope):
    x = jnp.asarray(X)
    inner = jax.jit(jnp.sign)
    ours = under("sign", lambda x: inner(x) + inner(2 * x))

    def wanted(x, slope):
        return primitive(x, slope) + primitive(2 * x, slope)

    for value in (slope, slope + 1):
        same(jax.jit(jax.grad(ours, (0, 1)))(x, value), jax.grad(wanted, (0, 1))(x, value))


def test_of_a_comparison(slope):
    ours = under("greater", lambda x: (x > 0.5).astype(x.dtype))
    half = functools.partial(lambda x, k: (jnp.tanh(k * (x - 0.5)) / 2 * G).sum())
    for mode in ("eager", "jit of grad"):
        same(MODES[mode](ours)(jnp.asarray(X), slope), MODES[mode](half)(jnp.asarray(X), slope))


def test_a_loop_adds_the_cotangents():
    def loop(x, slope, function):
        def body(carry, _):
            return carry * 0.5 + function(carry), None

        return jax.lax.scan(body, x, None, length=3)[0].sum()

    def ours(x, slope):
        with surrogate.override("jax", {"sign": surrogate.gradient("sign", "tanh", slope=slope)}):
            return loop(x, slope, jnp.sign)

    @jax.custom_jvp
    def by_hand(x, slope):
        return jnp.sign(x)

    @by_hand.defjvp
    def _(primals, tangents):
        return by_hand(*primals), jax.jvp(lambda x, k: jnp.tanh(k * x), primals, tangents)[1]

    args = jnp.asarray(X), jnp.asarray(1.3)
    wanted = jax.grad(lambda x, k: loop(x, k, lambda c: by_hand(c, k)), (0, 1))(*args)
    same(jax.grad(ours, (0, 1))(*args), wanted)
    same(jax.jit(jax.grad(ours, (0, 1)))(*args), wanted)


def test_an_array_outside_of_a_trace_is_a_constant_and_what_says_nothing_is_refused():
    assert not surrogate.gradient("sign", "tanh", slope=jnp.asarray(1.5)).rule.learned

    def loss(o):
        surrogate.gradient("sign", "reste", o=o)
        return o

    with pytest.raises(surrogate.ParameterError, match="does not say what its derivative by o is"):
        jax.grad(loss)(3.0)
