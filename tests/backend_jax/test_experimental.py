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
def test_sparsify_is_captured_on_dense_arrays(f, x, squared):
    with surrogate.override("jax", {"sign": square}):
        found = jax.grad(lambda x: sparse.sparsify(f)(x).sum())(x)
    np.testing.assert_array_equal(found, squared)


@pytest.mark.parametrize("op", ["sign", "abs"])
@pytest.mark.parametrize("jit", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("kind", [sparse.BCOO, sparse.BCSR])
def test_sparsify_applies_a_rule_to_the_stored_entries(kind, jit, op):
    matrix = kind.fromdense(MATRIX.todense())
    f = sparse.sparsify(getattr(jnp, op))
    f = jax.jit(f) if jit else f

    def total(data):
        filled = kind((data, *matrix.tree_flatten()[0][1:]), shape=matrix.shape)
        return (f(filled).data * jnp.asarray([1.0, 2.0, 3.0])).sum()

    native = f(matrix)
    with surrogate.override("jax", {op: square}):
        np.testing.assert_array_equal(f(matrix).todense(), native.todense())
        np.testing.assert_array_equal(jax.grad(total)(matrix.data), [1.0, 8.0, 0.75])
        assert jax.jvp(total, (matrix.data,), (jnp.ones(3),))[1] == 9.75
    np.testing.assert_array_equal(
        jax.grad(total)(matrix.data), [0.0] * 3 if op == "sign" else [1.0, -2.0, 3.0]
    )


@pytest.mark.parametrize("op", ["round", "floor", "trunc"])
def test_sparsify_has_no_rule_for_an_op_that_jax_has_none_for(op):
    f = sparse.sparsify(getattr(jnp, op))
    with pytest.raises(NotImplementedError):
        f(MATRIX)
    with surrogate.override("jax", {op: square}), pytest.raises(NotImplementedError, match="surrogate"):
        f(MATRIX)


@pytest.mark.parametrize("f", [jnp.sign, lambda x: jnp.sign(x), lax.sign], ids=["jnp", "lambda", "lax"])
def test_jet_raises(f):
    """Its series of a sign natively is the value and zeros: no surrogate is a derivative of that series."""
    value, terms = jet(f, (0.5,), ((1.0, 0.0),))
    assert (value, [float(t) for t in terms]) == (1.0, [0.0, 0.0])
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
