"""Shapes, dtypes and kinds of operands."""

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import elementwise_grad, grad, make_jvp, make_vjp
from autograd.numpy.numpy_boxes import ArrayBox

import surrogate

X = np.array([-2.5, -1.0, 0.0, 0.5, 3.0])

unaware = pytest.mark.filterwarnings("ignore:Output seems independent of input")
quiet = pytest.mark.filterwarnings("ignore::surrogate.NothingCapturedWarning")


class TestDtypes:
    @unaware
    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
    @pytest.mark.parametrize(
        ("op", "spec"), [("sign", "hardtanh"), ("sign", "tanh"), ("round", "identity"), ("floor", "sine")]
    )
    def test_first_and_second_derivatives_keep_it(self, op, spec, dtype):
        x = X.astype(dtype)
        with surrogate.override("autograd", {op: spec}):
            vjp, value = make_vjp(getattr(anp, op))(x)
            found = vjp(np.ones(5, dtype))
            second = elementwise_grad(elementwise_grad(getattr(anp, op)))(x)
            tangent = make_jvp(getattr(anp, op))(x)(np.ones(5, dtype))[1]
        assert [a.dtype for a in (value, found, second, tangent)] == [dtype] * 4
        right = surrogate.reference.vjp(op, spec, x)[0]
        np.testing.assert_allclose(found.astype(float), right, rtol=2 * np.finfo(dtype).eps, atol=0)

    def test_long_doubles_too(self):
        x = X.astype(np.longdouble)
        with surrogate.override("autograd", {"sign": "softsign"}):
            found = elementwise_grad(anp.sign)(x)
        assert found.dtype == np.longdouble
        np.testing.assert_array_equal(found, 2 / (1 + 2 * np.abs(x)) ** 2)

    @pytest.mark.parametrize(
        ("a", "b"), [("float32", "float64"), ("float64", "float32"), ("float16", "float32")]
    )
    def test_each_operand_has_its_own(self, a, b, rules):
        x, y = X.astype(a), np.full(5, 2.0, b)
        with surrogate.override("autograd", {"mod": rules["mod"]}):
            value = make_vjp(anp.mod, (0, 1))(x, y)[1]
            found = elementwise_grad(anp.mod, 0)(x, y), elementwise_grad(anp.mod, 1)(x, y)
        assert value.dtype == np.result_type(a, b)
        assert [c.dtype for c in found] == [a, b]
        for c, right in zip(found, surrogate.reference.vjp("mod", rules["mod"], x, y), strict=True):
            np.testing.assert_array_equal(c, right.astype(c.dtype))

    def test_a_python_number_beside_float32_changes_nothing(self, rules):
        x = X.astype(np.float32)
        with surrogate.override("autograd", {"mod": rules["mod"]}):
            value, found = make_vjp(lambda x: x % 2)(x)[::-1]
        assert value.dtype == np.float32
        assert found(np.ones(5, np.float32)).dtype == np.float32

    def test_an_integer_array_as_the_other_operand(self, rules):
        n = np.array([2, 3, -2, 1, 5])
        with surrogate.override("autograd", {"mod": rules["mod"]}):
            found = elementwise_grad(lambda x: x % n)(X)
        np.testing.assert_array_equal(found, surrogate.reference.vjp("mod", rules["mod"], X, n)[0])

    def test_python_floats_and_numpy_scalars(self):
        with surrogate.override("autograd", {"sign": "tanh"}):
            found = [grad(anp.sign)(v) for v in (0.5, np.float64(0.5), np.array(0.5))]
            narrow = grad(anp.sign)(np.float32(0.5))
        assert found == [surrogate.reference.vjp("sign", "tanh", 0.5)[0]] * 3
        assert narrow.dtype == np.float32

    def test_the_upstream_gradient_may_be_a_number_or_of_another_dtype(self):
        x = X.astype(np.float32)
        with surrogate.override("autograd", {"sign": "hardtanh"}):
            vjp, _ = make_vjp(anp.sign)(x)
        for g in (2.0, 2, np.full(5, 2.0), np.float64(2.0)):
            found = vjp(g)
            assert found.dtype == np.float32
            np.testing.assert_array_equal(found, [0, 2, 2, 2, 0])

    @pytest.mark.parametrize("spec", ["hardtanh", "identity", "tanh", "zero"])
    @pytest.mark.parametrize("x", [0.5, np.float32(0.5), np.array(0.5)], ids=["float", "float32", "0-d"])
    def test_python_numbers_as_cotangents_and_tangents(self, x, spec):
        right = 2 * surrogate.reference.vjp("sign", spec, 0.5)[0]
        with surrogate.override("autograd", {"sign": spec}):
            vjp, _ = make_vjp(anp.sign)(x)
            tangent = make_jvp(anp.sign)(x)(2.0)[1]
        for found in (vjp(2.0), vjp(2), tangent):
            assert found.dtype == np.asarray(x).dtype
            np.testing.assert_allclose(found, right, rtol=2 * np.finfo(found.dtype).eps)

    def test_dtype_as_an_argument(self):
        with surrogate.override("autograd", {"sign": "hardtanh"}):
            vjp, value = make_vjp(lambda x: anp.sign(x, dtype=np.float32))(X)
        assert value.dtype == np.float32
        assert vjp(np.ones(5, np.float32)).dtype == np.float64


class TestShapes:
    @pytest.mark.parametrize(
        ("a", "b"),
        [
            ((), ()),
            ((3,), ()),
            ((), (3,)),
            ((2, 3), (3,)),
            ((3,), (2, 3)),
            ((2, 1), (1, 3)),
            ((2, 3), (1, 1, 3)),
            ((0,), ()),
            ((1,), (0,)),
        ],
        ids=str,
    )
    @pytest.mark.parametrize("op", ["mod", "heaviside"])
    def test_broadcast_operands(self, op, a, b, rules):
        rng = np.random.default_rng(0)
        x, y = np.asarray(rng.normal(size=a)), np.asarray(rng.normal(size=b))
        g = np.asarray(rng.normal(size=np.broadcast_shapes(a, b)))
        f = getattr(anp, op)
        with surrogate.override("autograd", {op: rules[op]}):
            vjp, value = make_vjp(f, (0, 1))(x, y)
            tangent = make_jvp(f, 1)(x, y)(np.ones(b))[1]
        np.testing.assert_array_equal(value, getattr(np, op)(x, y))
        for found, right in zip(vjp(g), surrogate.reference.vjp(op, rules[op], x, y, g=g), strict=True):
            assert np.shape(found) == right.shape
            np.testing.assert_allclose(found, right, rtol=1e-14)
        right = surrogate.reference.jvp(op, rules[op], x, y, t=(np.zeros(a), np.ones(b)))
        assert np.shape(tangent) == right.shape
        np.testing.assert_array_equal(tangent, right)

    @pytest.mark.parametrize("shape", [(), (1,), (3,), (1, 3)], ids=str)
    def test_reverse_over_forward_of_a_broadcast_operand(self, shape, rules):
        x, y = np.full((2, 3), 0.5), np.full(shape, 2.0)

        def tangent(t):
            return make_jvp(anp.mod, 1)(x, y)(t)[1]

        with surrogate.override("autograd", {"mod": rules["mod"]}):
            found = make_vjp(tangent)(np.ones(shape))[0](np.ones((2, 3)))
        np.testing.assert_array_equal(found, surrogate.reference.vjp("mod", rules["mod"], x, y)[1])

    def test_a_constant_gradient_of_a_broadcast_operand(self):
        with surrogate.override("autograd", {"mod": "identity"}):
            vjp, _ = make_vjp(anp.mod)(np.array(0.5), np.ones((2, 3)))
            tangent = make_jvp(anp.mod)(np.array(0.5), np.ones((2, 3)))(1.0)[1]
        assert vjp(np.ones((2, 3))) == 6.0
        np.testing.assert_array_equal(tangent, np.ones((2, 3)))

    def test_not_contiguous(self):
        x = np.arange(-6.0, 6.0).reshape(3, 4).T[::2]
        with surrogate.override("autograd", {"sign": "hardtanh"}):
            found = elementwise_grad(anp.sign)(x)
        np.testing.assert_array_equal(found, np.abs(x) <= 1)


class TestLists:
    def test_a_list_of_differentiated_numbers_is_an_array(self):
        """Natively NumPy makes an object array of it, and the derivative is lost."""
        with surrogate.override("autograd", {"sign": "hardtanh"}) as used:
            vjp, value = make_vjp(lambda x: anp.sign([x[0], 2 * x[1], 7.0]))(np.array([0.5, 3.0]))
        np.testing.assert_array_equal(value, [1, 1, 1])
        np.testing.assert_array_equal(vjp(np.ones(3)), [1, 0])
        assert used.hits == {"sign": 1}

    def test_a_differentiated_tuple_is_an_array(self):
        with surrogate.override("autograd", {"sign": "hardtanh"}):
            vjp, _ = make_vjp(anp.sign)((0.5, 3.0))
        assert tuple(vjp(np.ones(2))) == (1, 0)

    def test_a_list_as_the_other_operand(self, rules):
        with surrogate.override("autograd", {"mod": rules["mod"]}):
            found = elementwise_grad(lambda x: anp.mod(x, [2.0, 3, 2, 1, 5]))(X)
        right = surrogate.reference.vjp("mod", rules["mod"], X, [2.0, 3, 2, 1, 5])[0]
        np.testing.assert_array_equal(found, right)


@quiet
class TestNative:
    """What is left to autograd."""

    @unaware
    def test_plain_arrays(self):
        with surrogate.override("autograd", {"sign": "identity"}) as used:
            value = anp.sign(X)
        assert type(value) is np.ndarray
        assert used.hits == {"sign": 0}

    @unaware
    @pytest.mark.parametrize("kind", [np.int64, np.bool_, np.complex128])
    def test_integers_bools_and_complex_numbers(self, kind):
        x = X.astype(kind)
        f = anp.floor if kind is not np.complex128 else anp.sign
        seen = []
        with surrogate.override("autograd", {"floor": "identity", "sign": "identity"}) as used:
            make_vjp(lambda x: (seen.append(type(f(x))), x)[1])(x)
        assert seen == [np.ndarray]
        assert used.hits == {"floor": 0, "sign": 0}

    def test_abs_of_complex_numbers(self):
        z = np.array([3 + 4j, -1j])
        right = elementwise_grad(lambda z: anp.abs(z))(z)
        with surrogate.override("autograd", {"abs": "sign0"}):
            np.testing.assert_array_equal(elementwise_grad(lambda z: anp.abs(z))(z), right)


class Labelled:
    """An array with a label that handles ufuncs itself, as xarray's do."""

    def __init__(self, data, label):
        self.data, self.label = data, label

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return Labelled(
            ufunc(*(x.data if isinstance(x, Labelled) else x for x in inputs), **kwargs), self.label
        )

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.data, dtype)


@pytest.mark.skipif(
    not hasattr(ArrayBox, "__array_ufunc__"), reason="before autograd 1.9 such objects meet no boxes"
)
@pytest.mark.parametrize("op", ["mod", "floor_divide", "heaviside"])
@pytest.mark.parametrize("function", ["autograd", "numpy"])
@pytest.mark.parametrize("order", [0, 1], ids=["first", "second"])
def test_objects_that_handle_ufuncs_themselves(op, function, order, rules):
    f = getattr({"autograd": anp, "numpy": np}[function], op)
    other = np.array([2.0, 3, 2, 1, 5])

    def unlabelled(x):
        result = f(*((x, Labelled(other, "m")) if order == 0 else (Labelled(other, "m"), x)))
        assert result.label == "m"
        return result.data

    operands = (X, other) if order == 0 else (other, X)
    with np.errstate(all="ignore"), surrogate.override("autograd", {op: rules[op]}) as used:
        vjp, value = make_vjp(unlabelled)(X)
        np.testing.assert_array_equal(value, getattr(np, op)(*operands))
    right = surrogate.reference.vjp(op, rules[op], *operands)[order]
    np.testing.assert_array_equal(vjp(np.ones(5)), right)
    assert used.hits == {op: 1}
