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


FUNCTIONS = {
    "scan": lambda x: jax.lax.scan(lambda c, row: (c + jnp.sign(row).sum(), row), 0.0, x)[0],
    "cond": lambda x: jax.lax.cond(x[0, 0] < 9, lambda v: jnp.sign(v).sum(), jnp.sum, x),
    "switch": lambda x: jax.lax.switch(1, [jnp.sum, lambda v: jnp.sign(v).sum()], x),
    "scan in cond": lambda x: jax.lax.cond(x[0, 0] < 9, FUNCTIONS["scan"], jnp.sum, x),
    "checkpoint": lambda x: jax.checkpoint(jnp.sign)(x).sum(),
    "vmap": lambda x: jax.vmap(jnp.sign)(x).sum(),
}


def along_a_line(f):
    """The derivative by each element, in forward mode."""
    units = jnp.eye(X.size).reshape(-1, *X.shape)
    return lambda x: jnp.stack([jax.jvp(f, (x,), (unit,))[1] for unit in units]).reshape(X.shape)


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=list(FUNCTIONS))
def test_it_is_read_inside_control_flow(f):
    k = surrogate.Variable(2.0)
    found = surrogate.gradient("sign", "tanh", slope=k)
    slopes = [jax.jit(jax.grad(f)), jax.grad(jax.jit(f)), jax.grad(f), jax.jit(along_a_line(f))]
    with surrogate.override("jax", {"sign": found}):
        for value in (2.0, 0.5):
            k.value = value
            for slope in slopes:
                np.testing.assert_allclose(slope(X), reference.vjp("sign", found, X)[0], rtol=2e-6)


NOT_IN_JAX = {
    "a mapped branch": lambda branch: jax.vmap(jax.grad(branch)),
    "a branch that is recomputed": lambda branch: jax.jit(jax.grad(jax.checkpoint(branch))),
    "a branch in a loop": lambda branch: jax.grad(
        lambda x: jax.lax.scan(lambda c, v: (c + branch(v), v), 0.0, x[None])[0]
    ),
}


@pytest.mark.parametrize("around", NOT_IN_JAX.values(), ids=list(NOT_IN_JAX))
def test_what_jax_cannot_do_with_a_reference_in_a_branch_raises(around):
    """JAX's own, as the first half shows, which is without us."""
    reference_of_jax = jax.new_ref(jnp.float32(2.0))
    x = jnp.ones(1) if around is NOT_IN_JAX["a mapped branch"] else jnp.float32(1.0)
    with pytest.raises(NotImplementedError, match="State effect not supported"):
        around(lambda x: jax.lax.cond(x < 9, lambda v: v * reference_of_jax[...], lambda v: v, x))(x)
    slope = surrogate.gradient("sign", "tanh", slope=surrogate.Variable(2.0))
    with (
        pytest.raises(NotImplementedError, match="State effect not supported"),
        surrogate.override("jax", {"sign": slope}),
    ):
        around(lambda x: jax.lax.cond(x < 9, jnp.sign, lambda v: v, x))(x)


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


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_in_a_branch_the_numbers_are_those_of_everywhere(dtype):
    """The value that a branch is given keeps its digits, also beside an input of half precision."""
    k = surrogate.Variable(0.3)  # no number of 16 bits
    x = jnp.asarray(X, dtype)
    with surrogate.override("jax", {"sign": surrogate.gradient("sign", "tanh", slope=k)}):
        expected = jax.jit(jax.grad(lambda x: jnp.sign(x).sum()))(x)
        found = jax.jit(jax.grad(lambda x: jax.lax.cond(x[0, 0] < 99, jnp.sign, lambda v: v, x).sum()))(x)
    np.testing.assert_array_equal(found, expected)


def test_a_second_derivative_in_a_branch():
    k = surrogate.Variable(2.0)
    found = surrogate.gradient("sign", "tanh", slope=k)

    def slope(f):
        return jax.jit(jax.grad(lambda x: jax.grad(f)(x)))(0.3)

    with surrogate.override("jax", {"sign": found}):
        expected = slope(jnp.sign)
        in_branch = slope(lambda x: jax.lax.cond(x < 9, jnp.sign, lambda v: v, x))
        np.testing.assert_allclose(in_branch, expected, rtol=1e-6)
    assert expected != 0
