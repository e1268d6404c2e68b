"""The points: every tie, edge and neighbour of CATALOGUE section 7, exact in each dtype."""

import ml_dtypes
import numpy as np
import pytest

import surrogate
from surrogate.testing._cases import Case, cases
from surrogate.testing._compare import agree, ulps
from surrogate.testing._dtypes import limits, neighbours, represents
from surrogate.testing._points import abscissae, grid

DTYPES = ("float16", "bfloat16", "float32", "float64")


@pytest.mark.parametrize("dtype", DTYPES)
def test_limits_are_the_dtypes(dtype):
    info = ml_dtypes.finfo(dtype) if dtype == "bfloat16" else np.finfo(dtype)
    assert limits(dtype).tiny == float(info.tiny)
    assert limits(dtype).spacing(np.array(1.0)) == float(info.eps)


@pytest.mark.parametrize("dtype", DTYPES)
def test_edges_and_their_neighbours_are_points(dtype):
    below, above = neighbours(dtype, 1.0)
    assert below < 1.0 < above
    assert {below, 1.0, above, -below, -1.0, -above} <= set(abscissae(Case("sign", "hardtanh"), dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_edge_that_the_dtype_does_not_have_is_no_point(dtype):
    points = abscissae(Case("sign", "hardtanh(width=0.3)"), dtype)
    near = float(np.asarray(0.3).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype))
    assert represents(dtype, 0.3) == (near in points)
    assert set(neighbours(dtype, 0.3)) <= set(points)


def test_every_x_meets_every_operand_and_upstream():
    points = grid(Case("mod", "exact"), "float32")
    rows = {(x, y, g) for x, y, g in zip(*(v.ravel() for v in (*points.inputs, points.g)), strict=True)}
    assert {
        (x, y, g) for x in (-2.5, 0.5, 1e4) for y in (3, -3, 0.5, -0.25) for g in (1, -2, 0, np.inf)
    } <= rows


def test_subnormal_and_both_zeros_are_points():
    x = grid(Case("sign", "identity"), "float32").inputs[0][0]
    assert (x[x == 0].view(np.uint32) != 0).any()
    assert (x[x == 0].view(np.uint32) == 0).any()
    assert ((np.abs(x) > 0) & (np.abs(x) < np.finfo(np.float32).tiny)).sum() >= 2


def test_parameter_without_default_gets_an_example():
    assert Case("round", "clipped(lo=-1.5, hi=2.0)") in cases("round")


def test_second_parameter_set_differs_from_the_defaults():
    assert Case("sign", "hardtanh(width=1.5)", main=False) in cases("sign")


def test_masks_and_constants_have_no_tolerance():
    assert [ulps(Case("sign", name), "float32") for name in ("hardtanh", "identity", "tanh")] == [0, 0, 4]


@pytest.mark.parametrize(
    ("got", "good"), [(1.0, True), (1.0 + 4 * 2.0**-23, True), (1.0 + 5 * 2.0**-23, False)]
)
def test_float_formulas_may_be_four_ulp_off(got, good):
    assert agree(np.array([got], np.float32), [np.array([1.0])], "float32", 4).all() == good


@pytest.mark.parametrize("got", [np.nan, -np.inf, 1e38])
def test_infinities_are_exact(got):
    assert not agree(np.array([got], np.float32), [np.array([np.inf])], "float32", 4).any()


def test_sign_of_zero_is_free():
    assert agree(np.array([-0.0], np.float32), [np.array([0.0])], "float32", 0).all()


def test_every_case_is_made():
    assert all(
        case.gradient is surrogate.gradient(op, case.spec) for op in surrogate.ops() for case in cases(op)
    )
