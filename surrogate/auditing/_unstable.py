"""Patterns that fail for some input, found by ranges and by what an op is made of.

A warning where there is one stable call for it or the data have come within reach of failing; else info.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from surrogate.auditing._finding import Finding, at
from surrogate.auditing._graph import Graph
from surrogate.auditing._probability import VIEWS, one_less, probability, through
from surrogate.auditing._ranges import ANY, Range, ranges
from surrogate.auditing._remedies import STABLE_LOG, stable_form
from surrogate.auditing._trace import Call

#: How a softmax or sigmoid is written by hand so that exp cannot overflow.
_BY_HAND = {"softmax": "subtract the maximum first", "sigmoid": "(tanh(x / 2) + 1) / 2"}

#: exp overflows in single precision above this.
_EXP = 88.0

#: A logarithm's argument that comes down to this is within reach of zero.
_NEAR_ZERO = 1e-12

#: A difference is cancelled if less than this share of its operand is left.
_CANCELS = 1e-3

_SQUARES = frozenset(("square", "pow", "mul"))
_AVERAGES = frozenset(("mean", "div", "sum", "avg_pool"))
_LOGS = frozenset(("log", "log2", "log10"))


def unstable(graph: Graph) -> Iterator[Finding]:
    """Every pattern of the trace that a gradient of the loss passes through."""
    known = ranges(graph)
    for call in graph.trace.calls:
        if graph.counts(call):
            for pattern in _PATTERNS:
                yield from pattern(graph, call, known)


def _logarithm(graph: Graph, call: Call, known: dict[int, Range]) -> Iterator[Finding]:
    if call.name not in _LOGS | {"log1p"}:
        return
    x = call.ins[0]
    made = graph.made_by(x)
    of = probability(graph, x, known) if call.name in _LOGS else ""
    other = "" if of else probability(graph, one_less(graph, call, known), known)
    if of:
        detail = f"log of a {of}: -inf as soon as a probability underflows"
        yield at(call, "unstable", "warning", detail, STABLE_LOG[False, of])
    elif other:
        detail = f"log of 1 less a {other}: -inf as soon as a probability rounds to 1"
        yield at(call, "unstable", "warning", detail, STABLE_LOG[True, other])
    elif call.name == "log1p":
        return
    elif made == "sum" and (power := _exponential(graph, x, known)) is not None:
        detail = "log of a sum of exponentials: overflows at 88 in float32"
        yield at(call, "unstable", "warning", detail, "logsumexp")
        detail = "exp of an unbounded value inside log(sum(exp)): overflows at 88 in float32"
        yield at(power, "unstable", "warning", detail, "logsumexp")
    else:
        value = graph.trace.values.get(x) if x is not None else None
        lowest = value.span.lo if value is not None and value.span is not None else math.inf
        if x is not None and known.get(x, ANY)[0] == 0.0 and lowest < _NEAR_ZERO:
            detail = f"log of a value that comes down to {lowest:.1e}"
            yield at(call, "unstable", "warning", detail, stable_form(call, graph))


def _quotient(graph: Graph, call: Call, known: dict[int, Range]) -> Iterator[Finding]:
    """A softmax or sigmoid written by hand; a division by a norm."""
    if call.name not in ("div", "reciprocal"):
        return
    below = call.ins[-1] if call.name == "div" and len(call.ins) > 1 else call.ins[0]
    if call.name == "div" and len(call.ins) < 2 and call.consts:
        return  # by a number
    made = graph.made_by(below)
    if made in ("sum", "add") and (power := _exponential(graph, below, known)) is not None:
        what = "softmax" if made == "sum" else "sigmoid"
        detail = (
            f"exp of an unbounded value in a hand-written {what}: overflows at 88 in float32, and gives "
            "0 * inf in the backward pass"
        )
        yield at(power, "unstable", "warning", detail, f"the framework's {what}, or {_BY_HAND[what]}")
    elif made == "norm":
        detail = "division by a norm: NaN for a vector of zeros"
        yield at(call, "unstable", "info", detail, stable_form(call, graph))


def _exponential(graph: Graph, i: int | None, known: dict[int, Range]) -> Call | None:
    """The exp of an unbounded value that a sum is made of."""
    terms = graph.maker[i].ins if i in graph.maker else []
    for call in (graph.maker[j] for j in terms if j in graph.maker):
        if call.name == "exp" and call.ins and known.get(call.ins[0] or 0, ANY)[1] > _EXP:
            return call
    return None


def _difference(graph: Graph, call: Call, known: dict[int, Range]) -> Iterator[Finding]:
    """A variance as E[x^2] - E[x]^2."""
    if call.name != "sub" or len(call.ins) != 2:
        return
    first, second = call.ins
    if graph.made_by(first) not in _AVERAGES or graph.made_by(second) not in _SQUARES:
        return
    if graph.made_by(through(graph, first, _AVERAGES | VIEWS)) not in _SQUARES:
        return
    if graph.made_by(through(graph, graph.maker[second or 0].ins[0], VIEWS)) not in _AVERAGES:
        return
    left = _left_over(graph, call.outs[0], first)
    what, stable = "variance as E[x^2] - E[x]^2", "var, or the mean of (x - mean)^2"
    if left < _CANCELS:
        detail = f"{what}: all but {left:.0e} of the value cancels"
        yield at(call, "unstable", "warning", detail, stable)
    else:
        yield at(call, "unstable", "info", f"{what}: cancels when the mean is large", stable)


def _left_over(graph: Graph, difference: int, operand: int | None) -> float:
    """Which share of its operand a difference still is."""
    left, whole = (graph.trace.values[i].span if i is not None else None for i in (difference, operand))
    return left.big / whole.big if left is not None and whole is not None and whole.big > 0 else math.inf


def _cross_entropy(graph: Graph, call: Call, known: dict[int, Range]) -> Iterator[Finding]:
    if call.name == "binary_cross_entropy" and graph.made_by(call.ins[0]) == "sigmoid":
        detail = "cross-entropy of a sigmoid"
        yield at(call, "unstable", "info", detail, "binary_cross_entropy_with_logits")


_PATTERNS: tuple[Callable[[Graph, Call, dict[int, Range]], Iterator[Finding]], ...] = (
    _logarithm,
    _quotient,
    _difference,
    _cross_entropy,
)
