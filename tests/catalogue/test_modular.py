"""mod, fmod and floor_divide: partial derivatives by both operands."""

import mpmath as mp
import numpy as np
import pytest

import surrogate
from surrogate import _numpy, reference

X = np.array([-1e4, -3.0, -2.5, -1.0, -0.5, -1e-3, 1e-3, 0.5, 1.0, 1.5, 2.0, 3.0, 1e4])
DIVISORS = [3.0, -3.0, 0.5, -0.25]


def both(op, name, x, y):
    return reference.vjp(op, name, x, np.full_like(x, y))


def exactly(function, x, y):
    with mp.workdps(40):
        return np.array([float(function(mp.mpf(v) / mp.mpf(y))) for v in x])


@pytest.mark.parametrize("y", DIVISORS)
@pytest.mark.parametrize(
    ("op", "name", "by_x", "by_y"),
    [
        ("mod", "exact", lambda q: 1, lambda q: -mp.floor(q)),
        ("mod", "identity", lambda q: 1, lambda q: 0),
        ("mod", "straight_through", lambda q: 0, lambda q: q - mp.floor(q)),
        ("fmod", "exact", lambda q: 1, lambda q: -(mp.floor(q) if q >= 0 else mp.ceil(q))),
        ("fmod", "identity", lambda q: 1, lambda q: 0),
        ("floor_divide", "zero", lambda q: 0, lambda q: 0),
    ],
)
def test_the_partial_derivatives(op, name, by_x, by_y, y):
    got = both(op, name, X, y)
    np.testing.assert_allclose(got[0], exactly(by_x, X, y), rtol=1e-15)
    np.testing.assert_allclose(got[1], exactly(by_y, X, y), rtol=1e-15, atol=1e-16)


@pytest.mark.parametrize("y", DIVISORS)
def test_sine_is_the_gradient_of_the_first_harmonic(y):
    x = np.array([-2.5, -1.0, -1e-3, 0.0, 0.2, 0.5, 1.0, 1.5, 2.9])

    def harmonic(a, b):
        return b / 2 - b / mp.pi * mp.sin(2 * mp.pi * a / b)

    with mp.workdps(60):
        by_x = [float(mp.diff(harmonic, (mp.mpf(v), mp.mpf(y)), (1, 0))) for v in x]
        by_y = [float(mp.diff(harmonic, (mp.mpf(v), mp.mpf(y)), (0, 1))) for v in x]
    got = both("mod", "sine", x, y)
    np.testing.assert_allclose(got[0], by_x, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(got[1], by_y, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("name", ["sine", "straight_through"])
def test_the_fraction_of_a_large_quotient_keeps_its_digits(name):
    x, y = np.array([-1e4, 1e4], np.float32), np.array([3.0, 3.0], np.float32)
    rule = surrogate.gradient("mod", name).rule
    got = rule.vjp(_numpy, rule.save(_numpy, (x, y)), np.ones_like(x))
    for single, double in zip(got, both("mod", name, x.astype(np.float64), 3.0), strict=True):
        np.testing.assert_allclose(single, double, rtol=1e-6)


def test_an_infinite_divisor_leaves_no_fraction():
    assert both("mod", "straight_through", np.array([1.0]), np.inf)[1].tolist() == [0]


def test_the_sine_vanishes_exactly_at_quarters():
    assert both("mod", "sine", np.array([-0.75, -0.25, 0.25, 0.75, 1.25]), 1.0)[0].tolist() == [0] * 5


@pytest.mark.parametrize("y", DIVISORS)
def test_floor_divide_identity_is_true_division(y):
    got = both("floor_divide", "identity", X, y)
    np.testing.assert_array_equal(got[0], np.full_like(X, 1 / y))
    np.testing.assert_allclose(got[1], -X / y**2, rtol=1e-15)


def test_floor_divide_does_not_overflow_before_its_value_does():
    assert both("floor_divide", "identity", np.array([1e-200]), 1e-180)[1] == pytest.approx(-1e160, rel=1e-15)


@pytest.mark.parametrize(
    ("op", "name", "by_x", "by_y"),
    [
        ("mod", "exact", [1, 1, 1], [np.inf, np.nan, -np.inf]),
        ("mod", "straight_through", [0, 0, 0], [np.nan, np.nan, np.nan]),
        ("mod", "sine", [np.nan, np.nan, np.nan], [np.nan, np.nan, np.nan]),
        ("fmod", "exact", [1, 1, 1], [np.inf, np.nan, -np.inf]),
        ("floor_divide", "identity", [np.inf, np.inf, np.inf], [np.inf, np.nan, -np.inf]),
        ("mod", "identity", [1, 1, 1], [0, 0, 0]),
    ],
)
def test_a_divisor_of_zero_follows_the_formula(op, name, by_x, by_y):
    got = both(op, name, np.array([-1.0, 0.0, 1.0]), 0.0)
    np.testing.assert_array_equal(got[0], by_x)
    np.testing.assert_array_equal(got[1], by_y)


def test_the_divisors_cotangent_is_summed_to_its_shape():
    by_x, by_y = reference.vjp(
        "mod", "exact", np.array([[1.0, 4.0, 7.0], [-1.0, 2.0, 10.0]]), np.array(3.0), g=2.0
    )
    assert by_x.shape == (2, 3)
    assert by_y == -2.0 * (0 + 1 + 2 - 1 + 0 + 3)


@pytest.mark.parametrize("zero", [0, 0.0, -0.0])
def test_a_divisor_that_is_the_python_number_zero_does_as_an_array_of_zeros(zero):
    x, g = np.array([-2.0, 0.0, 3.0]), np.array([1.0, 0.0, -2.0])
    rule = surrogate.gradient("floor_divide", "identity").rule
    with np.errstate(all="ignore"):
        number = rule.vjp(surrogate.reference.xp, rule.save(surrogate.reference.xp, (x, zero)), g)[0]
        array = rule.vjp(
            surrogate.reference.xp, rule.save(surrogate.reference.xp, (x, np.full(3, float(zero)))), g
        )[0]
    np.testing.assert_array_equal(number, array)
    np.testing.assert_array_equal(np.abs(number), [np.inf, np.nan, np.inf])
