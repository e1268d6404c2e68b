"""Variables in traced code: a hundred values, one trace, and each backward its forward's value."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import surrogate
from surrogate import reference

X = np.array([[0.5, -0.25, 1.5], [1.0, 0.125, -2.0]], np.float32)


@pytest.mark.parametrize("name", ["tanh", "hardtanh"])
def test_a_hundred_values_are_one_trace(name):
    k, traces = surrogate.Variable(1.0), []
    found = surrogate.gradient("sign", name, **{"tanh": {"slope": k}, "hardtanh": {"width": k}}[name])

    @jax.jit
    @jax.grad
    def slope(x):
        traces.append(x)
        return jnp.sign(x).sum()

    with surrogate.override("jax", {"sign": found}):
        for value in np.linspace(0.1, 3, 100):
            k.value = value
            np.testing.assert_allclose(slope(X), reference.vjp("sign", found, X)[0], rtol=2e-6)
    assert len(traces) == 1


def test_a_pullback_uses_what_its_forward_saw():
    k = surrogate.Variable(1.0)
    found = surrogate.gradient("sign", "tanh", slope=k)
    with surrogate.override("jax", {"sign": found}):
        _, back = jax.vjp(jnp.sign, X)
    expected = reference.vjp("sign", found, X)[0]
    k.value = 3.0
    np.testing.assert_allclose(back(np.ones_like(X))[0], expected, rtol=2e-6)


BRANCH = pytest.mark.xfail(
    strict=True,
    raises=TypeError,
    reason="JAX has no references among the constants of a branch that is differentiated after it was traced",
)


@pytest.mark.parametrize("around", ["scan", pytest.param("cond", marks=BRANCH), "checkpoint", "vmap"])
def test_it_is_read_inside_control_flow(around):
    k = surrogate.Variable(2.0)
    found = surrogate.gradient("sign", "tanh", slope=k)
    functions = {
        "scan": lambda x: jax.lax.scan(lambda c, row: (c + jnp.sign(row).sum(), row), 0.0, x)[0],
        "cond": lambda x: jax.lax.cond(x[0, 0] > 0, lambda v: jnp.sign(v).sum(), lambda v: v.sum(), x),
        "checkpoint": lambda x: jax.checkpoint(jnp.sign)(x).sum(),
        "vmap": lambda x: jax.vmap(jnp.sign)(x).sum(),
    }
    slope = jax.jit(jax.grad(functions[around]))
    with surrogate.override("jax", {"sign": found}):
        for value in (2.0, 0.5):
            k.value = value
            np.testing.assert_allclose(slope(X), reference.vjp("sign", found, X)[0], rtol=2e-6)


def test_an_array_of_jaxs_is_an_array():
    slope = jnp.array([1.0, 2.0, 3.0])
    found = surrogate.gradient("sign", "tanh", slope=slope)
    assert found is surrogate.gradient("sign", "tanh", slope=[1, 2, 3])


@pytest.mark.parametrize(
    "slope", [np.ones((3, 1)), surrogate.Variable(np.ones((2, 3)))], ids=["array", "variable"]
)
def test_a_mapped_op_refuses_what_its_own_shape_does_not_take(slope):
    found = surrogate.gradient("sign", "tanh", slope=slope)
    for function in (jax.vmap(jnp.sign), jax.jit(jax.vmap(jnp.sign))):
        with (
            pytest.raises(surrogate.ParameterError, match=r"does not broadcast to the input's shape \(3,\)"),
            surrogate.override("jax", {"sign": found}),
        ):
            jax.vjp(function, X)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_it_meets_the_axes_that_the_user_sees(axis):
    slope, x = np.array([[0.5], [1.0], [2.0]]), np.linspace(-1, 1, 27, dtype=np.float32).reshape(3, 3, 3)
    found = surrogate.gradient("sign", "tanh", slope=slope)
    with surrogate.override("jax", {"sign": found}):
        got = jax.grad(lambda x: jax.vmap(jnp.sign, axis, axis)(x).sum())(x)
    rows = np.moveaxis(x, axis, 0)
    expected = np.stack([reference.vjp("sign", found, row)[0] for row in rows])
    np.testing.assert_allclose(np.moveaxis(got, axis, 0), expected, rtol=2e-6)
