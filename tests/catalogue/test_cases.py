"""Wrong values that people reported of other libraries, as numbers that must come out here."""

import numpy as np
import pytest

import surrogate
from surrogate import reference


def test_clipped_and_plain_straight_through_are_two_gradients():
    x = [-2, -1.5, -1, 0.1, 0.9, 1.5, 2]
    assert reference.vjp("sign", "hardtanh", x)[0].tolist() == [0, 0, 1, 1, 1, 0, 0]
    assert reference.vjp("sign", "identity", x)[0].tolist() == [1] * 7


def test_a_mask_on_the_value_and_a_mask_on_the_code_are_half_a_step_apart():
    x = [-3, -1.2, 0.4, 1.2, 3]
    assert reference.vjp("round", "clipped(lo=-1, hi=1)", x)[0].tolist() == [0, 0, 1, 0, 0]
    assert reference.vjp("round", "clipped(lo=-1.5, hi=1.5)", x)[0].tolist() == [0, 1, 1, 1, 0]
    assert reference.vjp("round", "identity", x)[0].tolist() == [1] * 5


def test_a_leak_is_outside():
    got = reference.vjp("clip", "leaky(leak=0.001)", [-1, 0.5, 2], 0.0, 1.0)[0]
    assert got.tolist() == [0.001, 1, 0.001]


def test_the_remainders_have_a_gradient():
    assert reference.vjp("fmod", "exact", 5.0, 3.0)[0] == 1
    assert reference.vjp("mod", "exact", -5.0, 3.0)[1] == 2


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("heaviside:fast_sigmoid(slope=25)", [1 / 51**2, 1 / 13.5**2, 1, 1 / 13.5**2, 1 / 51**2]),
        ("heaviside:arctan", [1 / (1 + 4 * np.pi**2), 1 / (1 + np.pi**2 / 4), 1]),
        ("heaviside:softsign", [1 / 25, 1 / 4, 1, 1 / 4, 1 / 25]),
        ("heaviside:triangle", [0, 0.5, 1, 0.5, 0]),
        ("heaviside:boxcar", [0, 1, 1, 1, 0]),
        ("heaviside:laplace", [np.exp(-2) / 2, np.exp(-0.5) / 2, 0.5, np.exp(-0.5) / 2, np.exp(-2) / 2]),
        ("sign:arctan", [2 / (1 + 4 * np.pi**2), 2 / (1 + np.pi**2 / 4), 2]),
        ("sign:approx_sign", [0, 1, 2, 1, 0]),
        ("sign:tanh", [1 / np.cosh(2) ** 2, 1 / np.cosh(0.5) ** 2, 1]),
    ],
)
def test_each_name_is_its_own_formula(label, expected):
    op, _, spec = label.partition(":")
    got = reference.vjp(op, spec, [-2, -0.5, 0, 0.5, 2], *([0.5] if op == "heaviside" else []))[0]
    expected = [*expected[:3], *expected[1::-1]]  # all of them are even
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_a_smooth_gradient_leaves_the_forward_alone():
    assert reference.forward("round", 1.2) == 1
    assert reference.vjp("round", "sine", 1.2)[0] == pytest.approx(0.6909830056250525, rel=1e-14)


def test_floor_division_passes_as_true_division():
    assert reference.forward("floor_divide", 5.0, 2.0) == 2
    assert reference.vjp("floor_divide", "identity", 5.0, 2.0) == (0.5, -1.25)


def test_an_infinite_gradient_is_selected_away():
    assert reference.vjp("sign", "hardtanh", 2.0, g=np.inf)[0] == 0


def test_the_sigmoid_does_not_overflow():
    rule = surrogate.gradient("heaviside", "sigmoid(slope=25)").rule
    x = np.array([-5.0, -100.0, 100.0], np.float32)
    inputs = (x, np.full_like(x, 0.5))
    got = rule.vjp(surrogate._numpy, rule.save(surrogate._numpy, inputs), np.ones_like(x))[0]
    assert got.dtype == np.float32
    assert got.tolist() == [0, 0, 0]
