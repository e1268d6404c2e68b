"""Numbers that a half-precision dtype cannot hold: constants, ranges and gradients."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from surrogate.auditing._finding import Finding, at
from surrogate.auditing._graph import Graph
from surrogate.auditing._measure import rounded
from surrogate.auditing._trace import Call


class _Limits(NamedTuple):
    """The largest number, the smallest subnormal one, and the distance from 1 to the next."""

    largest: float
    smallest: float
    epsilon: float


_HALF = {
    "float16": _Limits(65504.0, 6e-8, 9.77e-4),
    "bfloat16": _Limits(3.39e38, 9.2e-41, 7.8e-3),
}

#: Dtypes that can be probed without a second run.
PROBED = tuple(_HALF)

#: Numbers this large are masks, not scales.
_MASK = 1e30

#: Ops that are handed infinities on purpose.
_MASKING = frozenset(("masked_fill", "where", "full", "sdpa", "fill"))

#: A constant passes through these on its way to the op that uses it.
_PASS_ON = frozenset(("cast", "identity", "clone"))


def precision(graph: Graph) -> Iterator[Finding]:
    """Constants that the dtype of the op which they meet cannot hold."""
    for call in graph.trace.calls:
        values = [graph.trace.values[i] for i in call.outs if i in graph.trace.values]
        for dtype in sorted({value.dtype for value in values} & _HALF.keys()):
            for number in _numbers(call):
                if _is_lost(number, dtype) and _meets_a_gradient(graph, call):
                    yield _constant(call, number, dtype)


def in_half(graph: Graph, dtype: str) -> Iterator[Finding]:
    """What would become of the ranges, constants and gradients of this run in ``dtype``."""
    limits = _HALF[dtype]
    for call in graph.trace.calls:
        if not graph.counts(call):
            continue
        spans = [value.span for i in call.outs if (value := graph.trace.values[i]).inexact]
        for span in spans:
            if span and span.big > limits.largest and not span.inf and call.name not in _MASKING:
                detail = f"reaches {span.big:.1e}: infinite in {dtype}"
                yield at(call, "precision", "warning", detail, "scale down, or keep this op in float32")
        for number in _numbers(call):
            if abs(number) < _MASK and _is_lost(number, dtype):
                yield _constant(call, number, dtype)
        if call.g_out is not None and 0 < call.g_out.big < limits.smallest:
            detail = f"its gradient, at most {call.g_out.big:.1e}, is 0 in {dtype}"
            yield at(call, "precision", "warning", detail, "loss scaling")


def _numbers(call: Call) -> list[float]:
    return [number for number in (*call.consts, *call.bounds) if isinstance(number, float)]


def _is_lost(number: float, dtype: str) -> bool:
    """Whether a constant becomes 0, 1 or infinite."""
    if number == 0 or not math.isfinite(number):
        return False
    held = rounded(number, dtype)
    return held == 0 or (abs(held) == 1.0 and abs(number) != 1.0) or math.isinf(held)


def _meets_a_gradient(graph: Graph, call: Call) -> bool:
    """Whether the constant is used on a live path; a cast of a constant is used by the next op."""
    users = [user for i in call.outs for user, _ in graph.users[i]] if call.name in _PASS_ON else []
    return any(graph.live_ins(each) for each in (call, *users))


def _constant(call: Call, number: float, dtype: str) -> Finding:
    detail = f"{number!r} is {rounded(number, dtype):g} in {dtype}"
    return at(call, "precision", "warning", detail, f"a constant of at least {_HALF[dtype].epsilon:.0e}")
