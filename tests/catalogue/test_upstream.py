"""Gradients that depend on the upstream gradient."""

import numpy as np
import pytest

import surrogate
from surrogate import reference

X = np.array([-2.0, -1.0, 0.0, 1.0, 2.0, np.nan])


@pytest.mark.parametrize(
    ("g", "expected"),
    [
        (1.0, [0, 1, 1, 1, 1, 0]),
        (-2.0, [-2, -2, -2, -2, 0, 0]),
        (0.0, [0] * 6),
        (np.inf, [0, *[np.inf] * 4, 0]),
    ],
)
def test_towards_passes_inside_and_where_the_step_goes_back_inside(g, expected):
    got = reference.vjp("clip", "towards", X, np.full(6, -1.0), np.full(6, 1.0), g=g)
    assert got[0].tolist() == expected
    assert not got[1].any()
    assert not got[2].any()


@pytest.mark.parametrize(
    ("op", "g", "expected"),
    [
        ("relu", 1.0, [0, 0, 0, 1, 1, 1, 1]),
        ("relu", -1.0, [0, 0, 0, 0, 0, 0, 0]),
        ("relu", np.inf, [0, 0, 0, *[np.inf] * 4]),
        ("relu6", 1.0, [0, 0, 0, 1, 1, 0, 0]),
        ("relu6", -1.0, [0, 0, 0, 0, 0, 0, 0]),
    ],
)
def test_guided_passes_positive_gradients_of_active_units(op, g, expected):
    assert reference.vjp(op, "guided", [-1.0, -0.0, 0.0, 5e-324, 3.0, 6.0, 7.0], g=g)[0].tolist() == expected


@pytest.mark.parametrize("op", ["relu", "relu6"])
def test_deconvnet_passes_positive_gradients_whatever_x(op):
    got = reference.vjp(op, "deconvnet", [-1.0, 0.0, 3.0, 9.0], g=[1.0, -2.0, np.inf, 4.0])[0]
    assert got.tolist() == [1, 0, np.inf, 4]


@pytest.mark.parametrize(
    ("op", "residual"),
    [
        ("round", [-0.25, -0.5, -0.5, 0.25]),
        ("floor", [0.75, 0.5, 0.5, 0.25]),
        ("ceil", [-0.25, -0.5, -0.5, -0.75]),
        ("trunc", [-0.25, -0.5, 0.5, 0.25]),
    ],
)
@pytest.mark.parametrize("g", [1.0, -2.0])
def test_ewgs_scales_by_the_rounding_error_and_the_sign_of_g(op, residual, g):
    x = np.array([-1.25, -2.5, 1.5, 1.25])
    expected = g * (1 + 0.5 * np.sign(g) * np.array(residual))
    assert reference.vjp(op, "ewgs(delta=0.5)", x, g=g)[0].tolist() == expected.tolist()


@pytest.mark.parametrize("x", [0.25, 2.0, np.inf])
@pytest.mark.parametrize("g", [0.0, np.inf, -np.inf])
def test_ewgs_keeps_zero_and_infinite_gradients(x, g):
    assert reference.vjp("round", "ewgs", x, g=g)[0] == g


def test_ewgs_without_delta_is_the_identity():
    assert reference.vjp("round", "ewgs(delta=0)", [0.3, 2.5], g=3.0)[0].tolist() == [3, 3]


def test_ewgs_is_evaluated_where_round_with_decimals_rounds():
    got = reference.vjp("round", "ewgs(delta=0.5)", 0.125, decimals=1)[0]
    assert got == 1 + 0.5 * (1.25 - 1)


UPSTREAM = [
    (op, name)
    for op, names in surrogate.gradients().items()
    for name in names
    if name != "clipped" and surrogate.gradient(op, name).upstream
]


def test_these_are_the_upstream_ones():
    assert {":".join(one) for one in UPSTREAM} == {
        *("round:ewgs", "floor:ewgs", "ceil:ewgs", "trunc:ewgs"),
        *("astype:ewgs", "maximum:towards", "minimum:towards"),
        *("clip:towards", "relu:guided", "relu:deconvnet", "relu6:guided", "relu6:deconvnet"),
    }


@pytest.mark.parametrize(("op", "name"), UPSTREAM, ids=[":".join(one) for one in UPSTREAM])
def test_there_is_no_forward_mode(op, name):
    rest = surrogate.op(op).held
    with pytest.raises(surrogate.ForwardModeError, match="no forward mode"):
        reference.jvp(op, name, 0.5, *rest)
