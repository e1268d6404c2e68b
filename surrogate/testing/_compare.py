"""How a backend's numbers are held against the reference's.

Masks and constants must be equal. Float formulas may differ by a stated number of units in the last
place (ulp): 4 in float32 and float64, 1 in float16 and bfloat16, where formulas are evaluated in float32
and rounded once. To that comes what one ulp of each input moves the formula: no evaluation in the dtype
can do better where it is steep. NaN and the infinities stand exactly where the reference has them; the
sign of a zero is free.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from surrogate import reference
from surrogate._elementwise import ElementwiseRule
from surrogate._partial import Kind
from surrogate.testing._cases import Case
from surrogate.testing._dtypes import limits, represents, rounded, widened
from surrogate.testing._points import Grid

Array = npt.NDArray[Any]

ULPS = {"float16": 1, "bfloat16": 1, "float32": 4, "float64": 4}


def ulps(case: Case, dtype: str) -> int:
    """The ulps by which this gradient may differ in this dtype: 0 for masks and constants."""
    rule = case.gradient.rule
    if rule.kept() is Kind.INPUTS:
        return ULPS[dtype]
    factors = rule.factors() if isinstance(rule, ElementwiseRule) else ()
    return 0 if all(represents(dtype, value) for value in factors) else 1


def tolerance(case: Case, dtype: str) -> str:
    """How far numbers may be off, in words, for the message of a failure."""
    allowed = ulps(case, dtype)
    if case.gradient.rule.kept() is not Kind.INPUTS:
        return f"within {allowed} ulp of {dtype}" if allowed else "exactly"
    return f"within {allowed} ulp of {dtype}, beside what one ulp of each input changes"


def slack(case: Case, points: Grid, g: Array) -> list[Array]:
    """By how much one ulp of the inputs moves each cotangent, where the formula is a float formula."""
    inputs = points.wide()
    zero = [np.zeros(points.g.shape) for _ in inputs]
    if case.gradient.rule.kept() is not Kind.INPUTS:
        return zero
    spacing = limits(widened(points.dtype)).spacing
    with np.errstate(all="ignore"):
        for j, x in enumerate(inputs):
            step = np.where(np.isfinite(x), spacing(np.where(np.isfinite(x), x, 1.0)), 0.0)
            unit = tuple(step if i == j else np.zeros_like(x) for i in range(len(inputs)))
            moved = reference.second(case.op, case.gradient, *inputs, g=g, t=unit)
            zero = [
                total + np.nan_to_num(np.abs(m), posinf=0.0) for total, m in zip(zero, moved, strict=True)
            ]
    return zero


def forward_slack(case: Case, shown: Grid, t: Sequence[Array]) -> Array:
    """The same for a tangent, a sum over the inputs: it is as exact as its largest term."""
    wide, ones = shown.wide(), np.ones_like(t[0])
    total = sum(np.abs(v) * moved for v, moved in zip(t, slack(case, shown, ones), strict=True))
    if len(t) > 1:
        for j in range(len(t)):
            alone = tuple(v * (i == j) for i, v in enumerate(t))
            term = np.abs(reference.jvp(case.op, case.gradient, *wide, t=alone))
            total = total + limits(shown.dtype).spacing(np.where(np.isfinite(term), term, 0.0))
    return np.asarray(total)


def agree(got: Array, expected: Sequence[Array], dtype: str, ulp: int, extra: Array | float = 0.0) -> Any:
    """Where ``got`` equals one of the ``expected`` within ``ulp`` units of the dtype and ``extra``."""
    return np.any([_agree(got, one, dtype, ulp, extra) for one in expected], axis=0)


def _agree(got: Array, expected: Array, dtype: str, ulp: int, extra: Array | float) -> Any:
    value, target = got.astype(np.float64), rounded(expected, dtype)
    same = (value == target) | (np.isnan(value) & np.isnan(target))
    if not ulp:
        return same
    known = limits(dtype)
    finite = np.isfinite(value) & np.isfinite(target)
    a, b = np.where(finite, value, 0.0), np.where(finite, target, 0.0)
    close = np.abs(a - b) <= ulp * known.spacing(b) + extra
    return same | (finite & close)


def bits(x: Array) -> Array:
    """The bit pattern, so that -0.0, 0.0 and different NaNs differ."""
    x = np.ascontiguousarray(x)
    return x.view(f"u{x.dtype.itemsize}")
