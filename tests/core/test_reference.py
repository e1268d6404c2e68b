"""The reference: NumPy's forward, cotangents of the inputs' shapes, exact second derivatives."""

import numpy as np
import pytest

import surrogate
from surrogate import reference


@pytest.mark.parametrize(
    ("op", "inputs", "expected"),
    [
        ("sign", [[-2, -0.0, 0.0, 3]], [-1, 0, 0, 1]),
        ("round", [[0.5, 1.5, -0.5, 2.5]], [0, 2, -0.0, 2]),
        ("floor", [[-0.5, 1.5]], [-1, 1]),
        ("ceil", [[-0.5, 1.5]], [-0.0, 2]),
        ("trunc", [[-1.5, 1.5]], [-1, 1]),
        ("mod", [[5, -5], 3], [2, 1]),
        ("fmod", [[5, -5], 3], [2, -2]),
        ("floor_divide", [[5, -5], 3], [1, -2]),
        ("heaviside", [[-1, 0, 2], 0.25], [0, 0.25, 1]),
        ("clip", [[-3, 0.5, 3], -1, 2], [-1, 0.5, 2]),
        ("relu", [[-1, 0, 2]], [0, 0, 2]),
        ("relu6", [[-1, 2, 7]], [0, 2, 6]),
        ("abs", [[-1, 0, 2]], [1, 0, 2]),
    ],
)
def test_forward_is_numpys(op, inputs, expected):
    found = reference.forward(op, *inputs)
    assert found.dtype == np.float64
    assert found.tolist() == expected


def test_forward_takes_the_ops_attributes():
    assert reference.forward("round", [1.2345], decimals=2).tolist() == [1.23]
    with pytest.raises(TypeError, match="floor has no attribute 'decimals'"):
        reference.forward("floor", [1.0], decimals=2)


def test_the_number_of_inputs_is_checked():
    with pytest.raises(TypeError, match="mod takes 2"):
        reference.forward("mod", 1.0)


def test_broadcast_operands_get_their_cotangent_summed():
    x, y = np.arange(6.0).reshape(2, 3), np.array([2.0, 2.0, 4.0])
    to_x, to_y = reference.vjp("mod", "exact", x, y, g=2.0)
    assert to_x.tolist() == [[2, 2, 2], [2, 2, 2]]
    assert to_y.tolist() == [-2.0 * (0 + 1), -2.0 * (0 + 2), -2.0 * (0 + 1)]
    assert reference.vjp("mod", "exact", x, 2.0)[1].shape == ()


def test_floor_divide_is_differentiated_as_true_division():
    assert [c.item() for c in reference.vjp("floor_divide", "identity", 5.0, 2.0)] == [0.5, -1.25]


def test_one_tangent_is_shared_by_all_inputs():
    assert reference.jvp("mod", "exact", 5.0, 3.0, t=2.0) == 2.0 * (1 - 1)
    assert reference.jvp("mod", "exact", 5.0, 3.0, t=(2.0, 0.0)) == 2.0
    with pytest.raises(TypeError, match="1 tangents for 2 inputs"):
        reference.jvp("mod", "exact", 5.0, 3.0, t=(1.0,))


def test_results_are_new_arrays():
    x = np.ones(3)
    found = reference.vjp("sign", "identity", x, g=np.ones(3))[0]
    found[0] = 5
    assert reference.vjp("sign", "identity", x)[0].tolist() == [1, 1, 1]


def test_second_is_the_derivative_of_the_formula():
    x = np.array([-0.5, 0.0, 0.5])
    a = np.pi  # (alpha/2) / (1 + (pi alpha x / 2)^2) with alpha = 2
    expected = -2 * a**2 * x / (1 + (a * x) ** 2) ** 2
    np.testing.assert_allclose(reference.second("heaviside", "arctan", x, 0.5)[0], expected, rtol=1e-15)


@pytest.mark.parametrize("gradient", ["hardtanh", "identity", "zero"])
def test_second_is_zero_for_windows_and_constants(gradient):
    assert reference.second("sign", gradient, [-2.0, 0.0, 1.0])[0].tolist() == [0, 0, 0]


def test_second_mixes_the_inputs():
    to_x, to_y = reference.second("floor_divide", "identity", 3.0, 2.0, t=(1.0, 1.0))
    assert to_x == -1 / 4  # d(1/y)/dy
    assert to_y == -1 / 4 + 2 * 3 / 8  # d(-x/y^2)/dx + d(-x/y^2)/dy


@pytest.mark.parametrize(
    ("name", "function", "slope"),
    [
        ("abs", lambda xp, x: xp.abs(x), [-1, 0, 1]),
        ("maximum", lambda xp, x: xp.maximum(x, 0.0), [0, 0.5, 1]),
        ("minimum", lambda xp, x: xp.minimum(x, 0.0), [1, 0.5, 0]),
        ("where", lambda xp, x: xp.where(x > 0, 3 * x, x), [1, 1, 3]),
        ("sign", lambda xp, x: xp.sign(x) * x, [-1, 0, 1]),
        ("floor", lambda xp, x: xp.floor(x) + 2 * x, [2, 2, 2]),
        ("pow", lambda xp, x: xp.pow(x + 3, 2), [4, 6, 8]),
        ("reciprocal", lambda xp, x: 1 / (x + 3), [-1 / 4, -1 / 9, -1 / 16]),
        ("radd", lambda xp, x: 2 - x, [-1, -1, -1]),
    ],
)
def test_dual_numbers_follow_the_conventions_of_the_namespace(name, function, slope):
    del name
    found = reference.second("sign", function, [-1.0, 0.0, 1.0])[0]
    np.testing.assert_allclose(found, slope, rtol=1e-15)


UNARY = [
    "atan",
    "cos",
    "cosh",
    "exp",
    "expm1",
    "log",
    "log1p",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
]


@pytest.mark.parametrize("name", UNARY)
def test_dual_derivatives_are_those_of_calculus(name):
    import mpmath

    inverse = {"atan": mpmath.atan, "square": lambda v: v**2}
    exact = inverse.get(name) or getattr(mpmath, name)

    def formula(xp, x):
        return getattr(xp, name)(x)

    found = reference.second("sign", formula, [0.375])[0].item()
    with mpmath.workdps(30):
        expected = float(mpmath.diff(exact, mpmath.mpf("0.375")))
    assert found == pytest.approx(expected, rel=4e-16)


def test_unknown_names_raise_the_cores_errors():
    with pytest.raises(surrogate.UnknownOpError):
        reference.forward("sgin", 1.0)
    with pytest.raises(surrogate.UnknownGradientError):
        reference.vjp("sign", "hardtan", 1.0)


@pytest.mark.parametrize("x", [np.array([1j]), ["1.5"], np.array([b"1"])], ids=["complex", "str", "bytes"])
def test_what_is_not_real_is_refused(x):
    with pytest.raises(TypeError, match="real numbers"):
        surrogate.reference.vjp("sign", "identity", x)


@pytest.mark.parametrize("decimals", [1.5, "2", None])
def test_decimals_are_an_integer(decimals):
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        surrogate.reference.vjp("round", "identity", 1.0, decimals=decimals)
