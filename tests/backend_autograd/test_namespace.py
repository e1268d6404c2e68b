"""The namespace of formulas: the names every backend offers, with the library's derivatives."""

import numpy as np
import pytest
from autograd import elementwise_grad, make_jvp
from surrogate_autograd import _namespace as xp

from surrogate import _dual, _numpy
from surrogate._dual import Dual

INF, NAN = np.inf, np.nan
POINTS = np.array([-INF, -2.5, -1.0, -0.0, 0.0, 0.25, 1.0, 3.0, INF, NAN])

UNARY = ["abs", "atan", "cos", "cosh", "exp", "expm1", "log", "log1p", "sin", "sinh", "sqrt", "square", "tan"]
UNARY += ["tanh"]
FLAT = ["ceil", "floor", "round", "sign", "trunc"]
BINARY = ["maximum", "minimum", "pow"]

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def test_the_names():
    assert all(hasattr(xp, name) for name in xp.__all__)


def slopes(name, *operands, wrt=0):
    """The derivative by one operand, by the reference's dual numbers."""
    duals = [Dual(x, 1.0) if at == wrt else x for at, x in enumerate(operands)]
    return np.broadcast_to(getattr(_dual, name)(*duals).slope, np.broadcast_shapes(*map(np.shape, operands)))


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions_of_one_variable(name, dtype):
    x, f = POINTS.astype(dtype), getattr(xp, name)
    value, tangent = make_jvp(f)(x)(np.ones_like(x))
    cotangent = elementwise_grad(f)(x)
    assert value.dtype == tangent.dtype == cotangent.dtype == dtype
    np.testing.assert_array_equal(value, getattr(_numpy, name)(x))
    np.testing.assert_array_equal(cotangent, tangent)
    if dtype is np.float64:
        np.testing.assert_array_equal(cotangent, slopes(name, x))


@pytest.mark.filterwarnings("ignore:Output seems independent of input")
@pytest.mark.parametrize("name", UNARY)
def test_they_are_differentiable_twice(name):
    x, h = np.array([0.3, 0.9, 1.4]), elementwise_grad(elementwise_grad(getattr(xp, name)))
    exact = {
        "abs": 0 * x,
        "atan": -2 * x / (1 + x * x) ** 2,
        "cos": -np.cos(x),
        "cosh": np.cosh(x),
        "exp": np.exp(x),
        "expm1": np.exp(x),
        "log": -1 / x**2,
        "log1p": -1 / (1 + x) ** 2,
        "sin": -np.sin(x),
        "sinh": np.sinh(x),
        "sqrt": -0.25 * x**-1.5,
        "square": 2 + 0 * x,
        "tan": 2 * np.tan(x) * (1 + np.tan(x) ** 2),
        "tanh": -2 * np.tanh(x) * (1 - np.tanh(x) ** 2),
    }
    np.testing.assert_allclose(h(x), exact[name], rtol=1e-14)


@pytest.mark.filterwarnings("ignore:Output seems independent of input")
@pytest.mark.parametrize("name", FLAT)
def test_functions_that_are_flat(name):
    np.testing.assert_array_equal(elementwise_grad(getattr(xp, name))(POINTS), np.zeros(10))


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("wrt", [0, 1])
def test_functions_of_two(name, wrt):
    x = np.array([1.0, 2.0, 3.0, 0.5, INF, 2.0, NAN])
    y = np.array([2.0, 1.0, 3.0, -0.5, 1.0, NAN, 2.0])
    f = getattr(xp, name)
    right = slopes(name, x, y, wrt=wrt)
    np.testing.assert_array_equal(elementwise_grad(f, wrt)(x, y), right)
    np.testing.assert_array_equal(make_jvp(f, wrt)(x, y)(np.ones(7))[1], right)


@pytest.mark.parametrize("name", [*BINARY, "where"])
def test_they_sum_over_broadcast_axes_and_keep_dtypes(name):
    x, y = np.full((2, 3), 2.0, np.float32), np.float32(1.0)
    f = getattr(xp, name) if name != "where" else lambda x, y: xp.where(x > 1, x, y)
    for wrt, shape in enumerate([(2, 3), ()]):
        found = elementwise_grad(f, wrt)(x, y)
        assert np.shape(found) == shape
        assert found.dtype == np.float32


def test_where_selects():
    def f(x):
        return xp.where(x > 0, 1 / x, 0.0)

    np.testing.assert_array_equal(elementwise_grad(f)(np.array([-1.0, 2.0])), [0, -0.25])
    mask = np.array([True, False])
    found = elementwise_grad(lambda x: xp.where(mask, x, 2 * x))(np.zeros(2))
    np.testing.assert_array_equal(found, [1, 2])


def test_widen():
    assert xp.widen(np.float16(1)).dtype == np.float32
    assert xp.widen(np.ones(2, np.float32)).dtype == np.float32
    assert xp.widen(np.array([True])).dtype == np.bool_
    assert xp.widen(0.5) == 0.5
    assert elementwise_grad(lambda x: xp.square(xp.widen(x)))(np.ones(2, np.float16)).dtype == np.float16


def test_astype_like():
    found = elementwise_grad(lambda x: xp.astype_like(x, np.float64(0)))(np.ones(2, np.float32))
    assert found.dtype == np.float32
    assert xp.astype_like(np.float32(1), np.float64(0)).dtype == np.float64
