"""Mass, peak, half-width and evenness, against what the formulas say they are."""

import math
import re

import numpy as np
import pytest

import surrogate
from surrogate._examples import examples
from surrogate._measure import derivative, measure
from surrogate.cli._facts import facts
from surrogate.testing._cases import cases

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


CASES = [case for op in surrogate.ops() for case in cases(op)]


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_the_printed_peak_is_the_formula_s_value_at_the_printed_place(case):
    text = dict(facts(case.gradient))["peak"]
    number = r"(-?[\d.e+-]+|-?inf)"
    peak, limit, at, side = re.fullmatch(
        rf"{number}(, the limit)? at \w+ = {number}(, from above|, from below)?", text
    ).groups()
    assert bool(limit) == bool(side)
    place = float(at)
    there = np.nextafter(place, {None: place, ", from above": np.inf, ", from below": -np.inf}[side])
    g = derivative(case.gradient)
    assert f"{g(np.array([there]))[0]:.6g}" == peak
    if limit:
        assert f"{g(np.array([place]))[0]:.6g}" != peak


def corner_at_a_third(xp, x):
    return xp.maximum(1 - 8 * xp.abs(x - 1 / 3), 0)


@pytest.mark.parametrize(
    ("op", "spec", "peak"),
    [
        ("relu", "guided", (1, 0, 1)),
        ("relu", "leaky", (1, 0, 1)),
        ("abs", "sign0", (1, 0, 1)),
        ("floor", "ewgs", (1.02, 0, -1)),
        ("trunc", "ewgs", (1.02, 1, -1)),
        ("relu", "sigmoid", (1, math.inf, 0)),
        ("relu", "deconvnet", (1, 0, 0)),
        ("relu", corner_at_a_third, (1, 1 / 3, 0)),
    ],
    ids=["guided", "leaky", "sign0", "floor-ewgs", "trunc-ewgs", "sigmoid", "deconvnet", "corner"],
)
def test_where_the_peak_is(op, spec, peak):
    got = measure(surrogate.gradient(op, spec))
    assert (got.peak, got.peak_at, got.peak_side) == pytest.approx(peak, abs=1e-8)


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
