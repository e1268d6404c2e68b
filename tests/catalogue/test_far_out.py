"""Every gradient at the edges of the number line: far out, at infinity, at NaN; and its symmetry."""

import math

import ml_dtypes
import numpy as np
import pytest

import surrogate
from surrogate import _numpy
from surrogate._examples import examples

DTYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32, "float64": np.float64}
TINY = {"float16": 6e-8, "bfloat16": 9.2e-41, "float32": 1e-45, "float64": 5e-324}
REST = {  # the other inputs
    "heaviside": (0.5,),
    "clip": (-1.0, 1.0),
    **dict.fromkeys(("equal", "not_equal", "maximum", "minimum"), (0.0,)),
}
#: Their formulas are those of heaviside at x - y, of trunc, or of whole vectors: see test_discrete.
ELSEWHERE = {
    *("greater", "greater_equal", "less", "less_equal", "searchsorted", "astype", "argmax", "argmin"),
    *("mod", "fmod", "floor_divide"),
}
STEEP = [
    *(f"sign:{spec}" for spec in ("tanh(slope=100)", "sigmoid(slope=100)", "arctan(alpha=100)")),
    *(f"sign:{spec}" for spec in ("softsign(alpha=100)", "swish_sign(beta=100)", "ede(t=100)")),
    *(f"heaviside:{spec}" for spec in ("sigmoid(slope=100)", "fast_sigmoid(slope=100)", "tanh(slope=100)")),
    *(f"heaviside:{spec}" for spec in ("erf(alpha=100)", "gaussian(sigma=0.01)", "laplace(alpha=100)")),
    *(
        f"heaviside:{spec}"
        for spec in ("circular(alpha=0.01)", "q_pseudo_spike(alpha=100)", "s2nn(alpha=100)")
    ),
    "heaviside:multi_gaussian(sigma=0.01)",
    "round:soft_round(alpha=100)",
    "relu:sigmoid(slope=100)",
]
UNARY = [f"{op}:{spec}" for op in surrogate.ops() if op not in ELSEWHERE for spec in examples(op)]
EVERYWHERE = np.concatenate(
    [[0.0], np.logspace(-4, 4, 60), np.linspace(0, 4, 33), [1e-3, 0.5, 1, 1.5, 2, 2.5, 3, 1e4]]
)


def split(label):
    op, _, spec = label.partition(":")
    return surrogate.gradient(op, spec)


def evaluate(label, x):
    """The cotangent of x for g = 1, computed in the dtype of ``x``."""
    gradient = split(label)
    inputs = (x, *(np.full_like(x, v) for v in REST.get(gradient.op.name, ())))
    rule = gradient.rule
    comparing = "ignore" if np.isnan(x).any() else "raise"  # bfloat16 warns when it compares with NaN
    with np.errstate(all="raise", under="ignore", invalid=comparing):
        return rule.vjp(_numpy, rule.save(_numpy, inputs), np.ones_like(x))[0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("label", [*UNARY, *STEEP])
def test_it_is_finite_for_all_inputs_up_to_1e4(label, dtype):
    x = np.concatenate([EVERYWHERE, -EVERYWHERE, [TINY[dtype], -TINY[dtype]]]).astype(DTYPES[dtype])
    got = evaluate(label, x)
    assert got.dtype == x.dtype
    assert np.isfinite(got.astype(np.float64)).all()


LIMITS = {  # at -inf and +inf, where it is not 0 at both
    "identity": (1, 1),
    "deconvnet": (1, 1),
    "ewgs": (1, 1),
    "leaky": (0.01, 0.01),
    "piecewise_leaky": (0.01, 0.01),
    "relu:leaky": (0.01, 1),
    "relu:sigmoid": (0, 1),
    "relu:guided": (0, 1),
    "clip:towards": (0, 1),
    "abs:sign0": (-1, 1),
    "floor:cubic": (0.75, 0.75),
    **{f"maximum:{name}": (0, 1) for name in ("closed", "split", "towards")},
    **{f"minimum:{name}": (1, 0) for name in ("closed", "split")},
    "minimum:towards": (1, 1),
    "round:soft_round": (4 / math.cosh(2) ** 2 / (2 * math.tanh(2)),) * 2,
    "floor:sine": (2, 2),
    "ceil:sine": (2, 2),
    "trunc:sine": (2, 2),
    "floor:soft_round": (4 / (2 * math.tanh(2)),) * 2,
    "ceil:soft_round": (4 / (2 * math.tanh(2)),) * 2,
    "trunc:soft_round": (4 / (2 * math.tanh(2)),) * 2,
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("label", UNARY)
def test_it_has_its_limit_at_infinity(label, dtype):
    name = label.partition(":")[2].partition("(")[0]
    expected = LIMITS.get(label, LIMITS.get(name, (0, 0)))
    got = evaluate(label, np.array([-np.inf, np.inf], DTYPES[dtype]))
    np.testing.assert_allclose(got, np.array(expected, DTYPES[dtype]), rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("label", STEEP)
def test_a_steep_one_has_its_limit_at_infinity(label):
    expected = {"round:soft_round(alpha=100)": 50 / math.cosh(50) ** 2, "relu:sigmoid(slope=100)": 1}
    assert evaluate(label, np.array([np.inf]))[0] == pytest.approx(expected.get(label, 0), rel=1e-14)


AT_NAN = {  # what does not propagate NaN: constants, and windows, which are closed there
    "identity": 1,
    "deconvnet": 1,
    "zero": 0,
    "hardtanh": 0,
    "clipped": 0,
    "boxcar": 0,
    "closed": 0,
    "open": 0,
    "open_boxcar": 0,
    "pact": 0,
    "split": 0,
    "equal:triangle": 0,
    "not_equal:triangle": 0,
    "half": 0,
    "towards": 0,
    "guided": 0,
    "leaky": 0.01,
    "piecewise_leaky": 0.01,
}


@pytest.mark.parametrize("label", UNARY)
def test_a_formula_propagates_nan_and_a_window_is_closed_there(label):
    name = label.partition(":")[2].partition("(")[0]
    got = evaluate(label, np.array([np.nan]))[0]
    expected = AT_NAN.get(label.partition("(")[0], AT_NAN.get(name))
    assert math.isnan(got) if expected is None else got == expected


NOT_EVEN = {"ewgs", "s2nn", "guided", "towards", "sign0", "relu:leaky", "relu:sigmoid", "clip:pact"}
NOT_EVEN |= {f"{op}:{name}" for op in ("maximum", "minimum") for name in ("closed", "split")}
ODD = [
    label for label in UNARY if label.partition(":")[0] in ("equal", "not_equal")
]  # bumps' own derivatives


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "label",
    [
        label
        for label in [*UNARY, *STEEP]
        if label not in ODD
        and not NOT_EVEN & {label.partition("(")[0], label.partition(":")[2].partition("(")[0]}
    ],
)
def test_an_even_one_is_even_to_the_last_bit(label, dtype):
    x = np.concatenate([EVERYWHERE, [np.inf, np.nan, TINY[dtype]]]).astype(DTYPES[dtype])
    right, left = (evaluate(label, side).astype(np.float64) for side in (x, -x))
    np.testing.assert_array_equal(right, left)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("label", ODD)
def test_the_derivative_of_a_bump_is_odd_to_the_last_bit(label, dtype):
    x = np.concatenate([EVERYWHERE, [np.inf, np.nan, TINY[dtype]]]).astype(DTYPES[dtype])
    right, left = (evaluate(label, side).astype(np.float64) for side in (x, -x))
    np.testing.assert_array_equal(right, -left)


@pytest.mark.parametrize(
    "label", ["sign:approx_sign", "sign:reste", "heaviside:triangle", "heaviside:boxcar"]
)
def test_an_infinite_upstream_gradient_does_not_pass_a_closed_window(label):
    op, _, spec = label.partition(":")
    got = surrogate.reference.vjp(op, spec, [-2.0, 2.0, 1e4], *REST.get(op, ()), g=np.inf)[0]
    assert got.tolist() == [0, 0, 0]
