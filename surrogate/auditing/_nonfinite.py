"""The first NaN or infinity, forward or backward, and ops that multiply a gradient by too much."""

from __future__ import annotations

from collections.abc import Iterator

from surrogate.auditing._finding import Finding, at
from surrogate.auditing._graph import Graph
from surrogate.auditing._remedies import stable_form
from surrogate.auditing._trace import Call, Span
from surrogate.auditing._vocabulary import SHAPE_ONLY, SINGULAR

#: An op by itself multiplies a gradient by at most 7e4 in sound programs (measured), normalising a zero
#: vector by 1e12.
EXPLODES = 1e6

#: An infinity is what they were asked to put there.
_FILLS = frozenset(
    ("masked_fill", "where", "full", "fill", "index_put", "scatter", "constant_pad", "constant_pad_nd", "pad")
)

#: They only move what was there: an infinity in their result is of memory that nobody has written yet.
_MOVES = frozenset(
    ("copy", "select", "slice", "view", "reshape", "expand", "transpose", "permute", "squeeze", "unsqueeze")
)

#: What leaves out elements of its operand; in the backward their gradient is zero.
_MASKS = frozenset(("where", "mul", "masked_fill", "index", "slice", "select", "gather", "masked_select"))

_DOUBLE_WHERE = "double where: give the op a safe input where it is masked"


def nonfinite(graph: Graph) -> Iterator[Finding]:
    """The first NaN or infinity of the forward pass, then of the backward pass, then explosions by one op."""
    forward: set[int] = set()
    for call in graph.trace.calls:
        if _fails_forward(graph, call):
            forward.add(id(call))
            yield _forward(graph, call)
    for call in graph.trace.calls:
        if call.g_out is not None and id(call) not in forward and not _saw_nan(graph, call):
            yield from _backward(graph, call, call.g_out)


def _spans(graph: Graph, ids: list[int] | list[int | None]) -> list[Span]:
    values = graph.trace.values
    return [span for i in ids if i in values and (span := values[i].span) is not None]


def _fails_forward(graph: Graph, call: Call) -> bool:
    """Finite in, not finite out, on a live path that the loss needs; not where it was asked to."""
    if call.name in SHAPE_ONLY | _FILLS | _MOVES or graph.needed.isdisjoint(call.outs):
        return False
    failed = any(span.bad for span in _spans(graph, call.outs))
    fed = any(span.bad for span in _spans(graph, call.ins))
    return failed and not fed and bool(graph.live_ins(call))


def _forward(graph: Graph, call: Call) -> Finding:
    nan = any(span.nan for span in _spans(graph, call.outs))
    harms = nan or any(span is not None and span.bad for span in call.g_in)
    detail = f"first {'NaN' if nan else 'infinity'} of the forward pass"
    return at(call, "nonfinite", "error" if harms else "warning", detail, stable_form(call, graph))


def _saw_nan(graph: Graph, call: Call) -> bool:
    """A NaN of the forward pass is named where it arose."""
    return any(span.nan for span in _spans(graph, [*call.ins, *call.outs]))


def _backward(graph: Graph, call: Call, arrived: Span) -> Iterator[Finding]:
    if arrived.bad:
        return
    bad = next((span for span in call.g_in if span is not None and span.bad), None)
    if bad is not None:
        trap = arrived.zero and any(user.name in _MASKS for i in call.outs for user, _ in graph.users[i])
        why = "the derivative is infinite at the values seen"
        if trap:
            why = (
                "an incoming gradient of 0 times an infinite derivative: masked after the op, where it "
                "must be masked before"
            )
        detail = f"first {'NaN' if bad.nan else 'infinity'} of the backward pass: {why}"
        yield at(call, "nonfinite", "error", detail, _DOUBLE_WHERE if trap else stable_form(call, graph))
    elif arrived.big > 0 and call.name in SINGULAR:
        gain = max((span.big for span in call.g_in if span is not None), default=0.0) / arrived.big
        if gain > EXPLODES:
            detail = f"multiplies the gradient by {gain:.1e} here"
            yield at(call, "exploding", "warning", detail, stable_form(call, graph))
