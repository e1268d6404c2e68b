"""Numbers of NumPy arrays, for recorders whose values are or become such arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from surrogate.auditing._trace import Call, Span
from surrogate.auditing._vocabulary import SATURATING, STRICT

#: A batch has at least so many examples before a unit that is silent for all of them says anything.
BATCH = 16


def span_of(x: Any) -> Span | None:
    """The span of a float or complex array, of any float dtype; None for other dtypes and empty arrays."""
    a = np.asarray(x)
    if a.dtype.kind == "c":
        a = a.view(a.real.dtype)
    if a.dtype.kind == "V" or a.dtype.name.startswith(("bfloat", "float8")):
        a = a.astype(np.float32)
    if a.dtype.kind != "f" or a.size == 0:
        return None
    finite = np.isfinite(a)
    nan = int(np.isnan(a).sum())
    inf = int(a.size - finite.sum()) - nan
    rest = a[finite] if nan or inf else a
    lo, hi = (float(rest.min()), float(rest.max())) if rest.size else (np.inf, -np.inf)
    return Span(lo, hi, nan, inf, int(a.size - np.count_nonzero(a)), a.size)


def note_activation(call: Call, output: Any, *, units: int = -1) -> None:
    """Set ``passed``, ``unit_dead`` and ``steep`` of the call of an activation from its output.

    Args:
        call: a call; nothing happens unless it is an activation.
        output: what it returned.
        units: the axis of the units (channels).
    """
    if call.name not in STRICT and call.name not in SATURATING:
        return
    y = np.asarray(output, np.float32)
    if not y.size:
        return
    if call.name in SATURATING:
        slope = 1 - y * y if call.name == "tanh" else y * (1 - y)
        call.steep = float((slope < 0.01 * SATURATING[call.name]).mean())
        return
    on = _passing(call, y)
    if on is None:
        return
    call.passed = float(on.mean())
    if on.ndim >= 2 and on.shape[0] >= BATCH:
        by_unit = np.moveaxis(on, units, -1).reshape(-1, on.shape[units])
        call.unit_dead = float((~by_unit.any(0)).mean())


def bounds_of(call: Call) -> tuple[float | None, float | None]:
    """Between which outputs an activation passes a gradient."""
    return {"relu": (0.0, None), "relu6": (0.0, 6.0)}.get(call.name, call.bounds)


def _passing(call: Call, y: Any) -> Any:
    low, high = bounds_of(call)
    if low is None and high is None:
        return None
    on = np.ones(y.shape, bool)
    if low is not None:
        on &= y > low
    if high is not None:
        on &= y < high
    return on


def rounded(number: float, dtype: str) -> float:
    """The nearest number of ``"float16"`` or ``"bfloat16"``; infinity above the largest."""
    if dtype == "float16":
        with np.errstate(over="ignore"):
            return float(np.float16(number))
    bits = int(np.float32(number).view(np.uint32))
    kept = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000  # round half to even on the upper 16 bits
    return float(np.uint32(kept).view(np.float32))
