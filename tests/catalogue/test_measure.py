"""Mass, peak, half-width and evenness, against what the formulas say they are."""

import math

import pytest

import surrogate
from surrogate._examples import examples
from surrogate._measure import measure

#: op:spec -> mass, peak, where, half-width (None where there is no simple number), even
MEASURES = {
    "sign:hardtanh(width=1.5)": (3, 1, 0, 1.5, True),
    "sign:identity": (math.inf, 1, 0, math.inf, True),
    "sign:zero": (0, 0, 0, 0, True),
    "sign:tanh(slope=3)": (2, 3, 0, math.acosh(math.sqrt(2)) / 3, True),
    "sign:sigmoid": (2, 2, 0, math.acosh(math.sqrt(2)) / 2, True),
    "sign:arctan": (2, 2, 0, 1 / math.pi, True),
    "sign:softsign": (2, 2, 0, (math.sqrt(2) - 1) / 2, True),
    "sign:approx_sign": (2, 2, 0, 0.5, True),
    "sign:swish_sign": (2, 5, 0, None, True),
    "sign:reste": (2 * 1.5 ** (1 / 3), 0.1 ** (-2 / 3), 0, 0.1, True),
    "sign:ede(t=0.5)": (4, 1, 0, 2 * math.acosh(math.sqrt(2)), True),
    "sign:ede(t=4)": (2, 4, 0, math.acosh(math.sqrt(2)) / 4, True),
    "heaviside:arctan": (1, 1, 0, 1 / math.pi, True),
    "heaviside:boxcar(width=2, height=0.25)": (1, 0.25, 0, 2, True),
    "heaviside:sigmoid(slope=100)": (1, 25, 0, math.acosh(math.sqrt(2)) / 50, True),
    "heaviside:fast_sigmoid": (2 / 25, 1, 0, (math.sqrt(2) - 1) / 25, True),
    "heaviside:softsign": (1, 1, 0, (math.sqrt(2) - 1) / 2, True),
    "heaviside:tanh": (1, 0.5, 0, math.acosh(math.sqrt(2)), True),
    "heaviside:gaussian": (1, 2 / math.sqrt(2 * math.pi), 0, math.sqrt(2 * math.log(2)) / 2, True),
    "heaviside:erf": (1, 2 / math.sqrt(math.pi), 0, math.sqrt(math.log(2)) / 2, True),
    "heaviside:multi_gaussian": (0.85, None, 0, None, True),
    "heaviside:laplace": (1, 0.5, 0, math.log(2), True),
    "heaviside:triangle(width=2, height=0.3)": (0.6, 0.3, 0, 1, True),
    "heaviside:piecewise_leaky": (math.inf, 0.5, 0, 1, True),
    "heaviside:q_pseudo_spike(alpha=3)": (1, 1, 0, 2 ** (1 / 3) - 1, True),
    "heaviside:circular(alpha=2)": (4, 1, 0, 2 * math.sqrt(2 ** (2 / 3) - 1), True),
    "heaviside:s2nn": (math.inf, 1, 0, (1 + math.acosh(math.sqrt(2)) / 2) / 2, False),
    "round:sine": (math.inf, 2, 0.5, 0.25, True),
    "floor:sine": (math.inf, 2, 0, 0.25, True),
    "trunc:sine": (math.inf, 2, 1, 0.25, True),
    "round:soft_round": (math.inf, 2 / math.tanh(2), 0.5, math.acosh(math.sqrt(2)) / 4, True),
    "round:clipped(lo=-1, hi=2)": (3, 1, 0, 1.5, False),
    "mod:sine": (math.inf, 2, 0.5, 1 / 6, True),
    "clip:half": (2, 1, 0, 1, True),
    "clip:leaky": (math.inf, 1, 0, 1, True),
    "relu6:guided": (6, 1, 0, 3, False),
    "abs:sign0": (math.inf, 1, 0, math.inf, False),
}


@pytest.mark.parametrize("label", MEASURES)
def test_the_measures_are_those_of_the_formula(label):
    op, _, spec = label.partition(":")
    got = measure(surrogate.gradient(op, spec))
    mass, peak, peak_at, half_width, even = MEASURES[label]
    assert got.mass == pytest.approx(mass, rel=1e-12)
    assert peak is None or got.peak == pytest.approx(peak, rel=1e-11)
    assert got.peak_at == peak_at
    assert half_width is None or got.half_width == pytest.approx(half_width, rel=1e-8)
    assert got.even is even


@pytest.mark.parametrize(("op", "spec"), [(op, spec) for op in surrogate.ops() for spec in examples(op)])
def test_everything_can_be_measured(op, spec):
    got = measure(surrogate.gradient(op, spec))
    assert not any(math.isnan(value) for value in (got.mass, got.peak, got.peak_at, got.half_width))


def test_a_mass_that_the_docstrings_state():
    for op, mass in (("sign", 2), ("heaviside", 1)):
        for name in surrogate.gradients(op):
            gradient = surrogate.gradient(op, name)
            if f"mass {mass}." in gradient.doc or f"mass {mass};" in gradient.doc:
                assert measure(gradient).mass == pytest.approx(mass, rel=1e-12)
