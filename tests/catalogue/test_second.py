"""The derivative of each formula, which is what frameworks differentiate, against mpmath's."""

import mpmath as mp
import numpy as np
import pytest

import surrogate
from surrogate import reference
from surrogate._examples import examples

SUBNORMAL = 5e-324
POINTS = [-1e4, -3, -2.5, -2, -1.5, -1, -0.5, -1e-3, -SUBNORMAL, -0.0, 0.0, SUBNORMAL, 1e-3, 0.5, 1, 1.5, 2]
POINTS = np.array([*POINTS, 2.5, 3, 1e4])


def others(op):
    """3 for a divisor: 1 would leave no fraction of the integers."""
    known = surrogate.op(op)
    return known.held if known.held != (1.0,) else (3.0,)


EVERY = [(op, spec) for op in surrogate.ops() for spec in examples(op)]


@pytest.mark.parametrize(("op", "spec"), EVERY, ids=[":".join(one) for one in EVERY])
def test_it_is_finite_at_every_finite_input(op, spec):
    for slope in reference.second(op, spec, POINTS, *others(op)):
        assert np.isfinite(slope).all()


WINDOWS = [
    ("sign", "hardtanh"),
    ("sign", "identity"),
    ("round", "clipped(lo=-1, hi=1)"),
    ("heaviside", "boxcar"),
    ("heaviside", "piecewise_leaky"),
    ("clip", "closed"),
    ("clip", "open"),
    ("clip", "half"),
    ("clip", "leaky"),
    ("clip", "towards"),
    ("relu", "guided"),
    ("relu", "leaky"),
    ("relu6", "guided"),
    ("abs", "sign0"),
]


@pytest.mark.parametrize(("op", "spec"), WINDOWS, ids=[":".join(one) for one in WINDOWS])
def test_it_is_zero_for_a_window(op, spec):
    for slope in reference.second(op, spec, POINTS, *others(op)):
        assert not slope.any()


def sech2_slope(x):
    return -2 * mp.tanh(x) * mp.sech(x) ** 2


DERIVATIVES = {
    "sign:tanh": sech2_slope,
    "sign:ede": sech2_slope,
    "sign:sigmoid": lambda x: 4 * sech2_slope(2 * x),
    "sign:arctan": lambda x: -4 * mp.pi**2 * x / (1 + (mp.pi * x) ** 2) ** 2,
    "sign:softsign": lambda x: -8 * mp.sign(x) / (1 + 2 * abs(x)) ** 3,
    "sign:approx_sign": lambda x: -2 * mp.sign(x),
    "sign:reste": lambda x: -mp.sign(x) * mp.mpf(2) / 9 * abs(x) ** (-mp.mpf(5) / 3),
    "heaviside:arctan": lambda x: -2 * mp.pi**2 * x / (1 + (mp.pi * x) ** 2) ** 2,
    "heaviside:sigmoid": lambda x: 2 * sech2_slope(2 * x),
    "heaviside:tanh": lambda x: sech2_slope(x) / 2,
    "heaviside:fast_sigmoid": lambda x: -50 * mp.sign(x) / (1 + 25 * abs(x)) ** 3,
    "heaviside:softsign": lambda x: -4 * mp.sign(x) / (1 + 2 * abs(x)) ** 3,
    "heaviside:gaussian": lambda x: -4 * x * mp.npdf(x, 0, 0.5),
    "heaviside:erf": lambda x: -16 * x / mp.sqrt(mp.pi) * mp.exp(-4 * x**2),
    "heaviside:laplace": lambda x: -mp.sign(x) * mp.exp(-abs(x)) / 2,
    "heaviside:triangle": lambda x: -mp.sign(x),
    "heaviside:q_pseudo_spike": lambda x: -4 * mp.sign(x) / (1 + 2 * abs(x)) ** 3,
    "heaviside:circular": lambda x: -3 * x / (x**2 + 1) ** 2.5,
    "heaviside:s2nn": lambda x: 2 * sech2_slope(2 * x) if x < 0 else -1 / (x + 1) ** 2,
    "round:sine": lambda x: 2 * mp.pi * mp.sinpi(2 * x),
    "floor:sine": lambda x: -2 * mp.pi * mp.sinpi(2 * x),
    "ceil:sine": lambda x: -2 * mp.pi * mp.sinpi(2 * x),
    "trunc:sine": lambda x: -2 * mp.pi * mp.sinpi(2 * x) if abs(x) > 0.5 else 0,
    "relu:sigmoid": lambda x: mp.sech(2 * x) ** 2,
    "round:ewgs": lambda x: mp.mpf("0.02"),
}


def swish_slope(z):
    """The derivative of (2 - z tanh(z/2)) / (1 + cosh z)."""
    above = -mp.tanh(z / 2) - z / 2 * mp.sech(z / 2) ** 2
    below = 1 + mp.cosh(z)
    return above / below - (2 - z * mp.tanh(z / 2)) * mp.sinh(z) / below**2


DERIVATIVES["sign:swish_sign"] = lambda x: 25 * swish_slope(5 * x)


@pytest.mark.parametrize("label", DERIVATIVES)
def test_it_is_the_derivative_of_the_formula(label):
    op, _, spec = label.partition(":")
    x = np.array([-0.9, -0.3, -0.11, 0.0, 0.13, 0.3, 0.7])
    got = reference.second(op, spec, x, *others(op))[0]
    if spec == "reste":  # flat around 0
        x, got = np.delete(x, 3), np.delete(got, 3)
    with mp.workdps(30):
        expected = [float(DERIVATIVES[label](mp.mpf(v))) for v in x]
    np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-15)


def test_at_a_corner_it_is_the_mean_of_both_sides():
    corners = {"sign": ["softsign", "approx_sign"], "heaviside": ["fast_sigmoid", "laplace", "triangle"]}
    for op, names in corners.items():
        for name in names:
            assert reference.second(op, name, 0.0, *others(op))[0] == 0


def test_the_slope_of_relu_sigmoid_at_0_is_a_quarter_of_its_parameter():
    assert reference.second("relu", "sigmoid(slope=2)", 0.0)[0] == 0.5
