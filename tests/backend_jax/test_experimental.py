"""Functions of ``jax.experimental`` that are handed an op as it is: the op is the user's, or an error."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import sparse
from jax.experimental.jet import jet
from jax.experimental.ode import odeint
from jax_formulas import square

import surrogate

MATRIX = sparse.BCOO.fromdense(jnp.asarray([[1.0, 0.0, -2.0], [0.0, 0.5, 0.0]]))


@pytest.mark.parametrize("f", [jnp.sign, lambda x: jnp.sign(x), lax.sign], ids=["jnp", "lambda", "lax"])
@pytest.mark.parametrize("jacobian", [sparse.jacrev, sparse.jacfwd])
def test_jacobians_of_sparse_functions(jacobian, f, x, squared):
    with surrogate.override("jax", {"sign": square}):
        np.testing.assert_array_equal(jacobian(f)(x), np.diag(squared))


@pytest.mark.parametrize("f", [jnp.sign, lambda x: jnp.sign(x)], ids=["jnp", "lambda"])
def test_sparsify_is_captured_on_dense_arrays_and_raises_on_sparse_ones(f, x, squared):
    with surrogate.override("jax", {"sign": square}):
        found = jax.grad(lambda x: sparse.sparsify(f)(x).sum())(x)
        with pytest.raises(NotImplementedError, match="surrogate"):
            sparse.sparsify(f)(MATRIX)
    np.testing.assert_array_equal(found, squared)


@pytest.mark.parametrize("f", [jnp.sign, lambda x: jnp.sign(x), lax.sign], ids=["jnp", "lambda", "lax"])
def test_jet_raises(f):
    with surrogate.override("jax", {"sign": square}), pytest.raises(KeyError, match="surrogate"):
        jet(f, (0.5,), ((1.0, 0.0),))


def test_a_solver_of_differential_equations_obeys_the_block_it_is_called_in():
    """y' = sign(y) / 2 keeps its sign: y(2) is y(0) + 1, and the backward solves a' = -a y^2 / 2."""

    def at_two(y):
        return odeint(lambda y, t: jnp.sign(y) / 2, y, jnp.asarray([0.0, 2.0]))[-1]

    def inside(y):
        with surrogate.override("jax", {"sign": square}):
            return at_two(y)

    with surrogate.override("jax", {"sign": square}):
        expected = jax.grad(at_two)(1.0)
        pull = jax.vjp(at_two, 1.0)[1]
    np.testing.assert_allclose(expected, np.exp(7 / 3), rtol=1e-6)
    assert jax.grad(inside)(1.0) == jax.grad(jax.jit(inside))(1.0) == pull(1.0)[0] == expected
    assert jax.grad(at_two)(1.0) == 1
