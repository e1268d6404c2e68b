"""A program and its numbers as the plain trace that the rules read.

The iterations of a scan are laid out one after the other, so that a value has one id per iteration and the
depth of a recurrence is the depth of the trace; of a long scan, those at its ends, some between, and those
where a number first stops being finite or another branch is taken.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from surrogate.auditing import Call, Span, Value, span_of
from surrogate_jax._audit_clip import order, value_first
from surrogate_jax._audit_names import CALLBACKS
from surrogate_jax._audit_program import Body, Node, inexact, is_literal, rule_of

#: How many iterations of a scan are laid out; of a scan in a scan together as many.
_ITERATIONS = 64

_NOT_DIFFERENTIABLE = "a Python callback has no derivative"


class Builder:
    """Makes the calls and values of a trace.

    In its methods ``seen`` are the numbers of the values, as :func:`surrogate_jax._audit_numbers.run`
    returns them, and ``back`` those of the cotangents, nested as its slots are.
    """

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.values: dict[int, Value] = {}
        self._path: tuple[str, ...] = ()
        self._at: tuple[int, ...] = ()  # iteration of every scan around
        self._iterations = _ITERATIONS

    def value(self, aval: Any, span: Span | None = None) -> int:
        """A new id for an array of this type."""
        key = len(self.values)
        self.values[key] = Value(str(aval.dtype), inexact(aval), tuple(aval.shape), span)
        return key

    def constant(self, x: Any, aval: Any = None) -> int:
        """A new id for an array that is known."""
        aval = x if aval is None else aval
        return self.value(aval, span_of(np.asarray(x, aval.dtype)) if inexact(aval) else None)

    def body(self, body: Body, ins: Sequence[int], seen: Sequence[Any], back: Sequence[Any]) -> list[int]:
        """Lay a body out for these inputs; ids of what it returns."""
        of = {var: self.constant(x) for var, x in zip(body.jaxpr.constvars, body.consts, strict=True)}
        of.update(zip(body.jaxpr.invars, ins, strict=True))

        def read(var: Any) -> int:
            return self.constant(var.val, var.aval) if is_literal(var) else of[var]

        for node, numbers, slots in zip(body.nodes, seen, back, strict=True):
            lay = _LAY[node.kind]
            outs = lay(self, node, [read(var) for var in node.eqn.invars], numbers, slots)
            of.update(zip(node.eqn.outvars, outs, strict=True))
        return [read(var) for var in body.jaxpr.outvars]

    # -- nodes ---------------------------------------------------------------------------------

    def op(self, node: Node, ins: list[int], seen: Any, back: Any) -> list[int]:
        """One call of an op."""
        outs = []
        for var, numbers in zip(node.eqn.outvars, seen["outs"], strict=True):
            span = self._rearranged(ins, var) if node.rearranges else self._span(numbers)
            outs.append(self.value(var.aval, span))
        live = [inexact(var.aval) for var in node.eqn.outvars]
        places = value_first(node)
        call = self._call(node, node.name, [ins[k] for k in places], outs, live)
        call.raw, call.raises, call.rule = node.raw, node.raises, rule_of(node.eqn)
        call.zero_in = frozenset(n for n, k in enumerate(places) if k in node.zero_in)
        call.consts = _numbers_of(node)
        call.bounds = self._bounds(node, ins)
        if node.raw == "stop_gradient" or node.raw in CALLBACKS:
            call.live_out = [False] * len(outs)
            call.why = "stop_gradient" if node.raw == "stop_gradient" else _NOT_DIFFERENTIABLE
        for name, share in seen.get("shares", {}).items():
            setattr(call, name, float(share[self._at]))
        if back:
            cotangents = [self._cotangent(back.get(f"out{k}")) for k in range(len(outs))]
            call.g_out = next((g for g in cotangents if g is not None), None)
            call.g_in = [self._cotangent(back.get(f"in{k}")) for k in places]
        return outs

    def called(self, node: Node, ins: list[int], seen: Any, back: Any) -> list[int]:
        """A jit or remat of the user's."""
        named = node.eqn.params.get("name")
        return self._inside((str(named),) if named else (), node.bodies[0], ins, seen[0], back[0])

    def cond(self, node: Node, ins: list[int], seen: Any, back: Any) -> list[int]:
        """The branch that was taken, and a selection by its index."""
        taken = int(seen["index"][self._at])
        outs = self._inside(("cond",), node.bodies[taken], ins[1:], seen["branches"][taken], back[taken])
        return [self._derived("where", node, [ins[0], out], var.aval, self.values[out].span)
                for out, var in zip(outs, node.eqn.outvars, strict=True)]  # fmt: skip

    def scan(self, node: Node, ins: list[int], seen: Any, back: Any) -> list[int]:
        """The iterations, one after the other."""
        params, body = node.eqn.params, node.bodies[0]
        first = params["num_consts"]
        last = first + params["num_carry"]
        consts, carry, xs = ins[:first], ins[first:last], ins[last:]
        laid = self._choose(params["length"], seen, back)
        rows: list[list[int]] = []
        outer, room = self._at, self._iterations
        self._iterations = max(2, room // max(1, len(laid)))
        for i in reversed(laid) if params["reverse"] else laid:
            self._at = outer
            row = [
                self._derived("slice", node, [x], var.aval, self.values[x].span)
                for x, var in zip(xs, body.jaxpr.invars[last:], strict=True)
            ]
            self._at = (*outer, i)
            outs = self._inside(("scan",), body, [*consts, *carry, *row], seen, back)
            carry = outs[: last - first]
            rows.append(outs[last - first :])
        self._at, self._iterations = outer, room
        columns = zip(*rows, strict=True) if rows else [[] for _ in node.eqn.outvars[last - first :]]
        stacked = [
            self._derived("stack", node, list(column), var.aval, _union(self.values[i].span for i in column))
            for column, var in zip(columns, node.eqn.outvars[last - first :], strict=True)
        ]
        return [*carry, *stacked]

    # -- parts ---------------------------------------------------------------------------------

    def _call(self, node: Node, name: str, ins: list[int], outs: list[int], live: list[bool]) -> Call:
        path = "/".join(part for part in (*self._path, node.scope) if part)
        call = Call(name, node.eqn.primitive.name, node.place, list(ins), outs, live, path=path)
        self.calls.append(call)
        return call

    def _derived(self, name: str, node: Node, ins: list[int], aval: Any, span: Span | None) -> int:
        """A call that a loop or a branch makes by itself."""
        out = self.value(aval, span)
        self._call(node, name, ins, [out], [inexact(aval)])
        return out

    def _inside(self, path: tuple[str, ...], body: Body, ins: list[int], seen: Any, back: Any) -> list[int]:
        outer, self._path = self._path, self._path + path
        outs = self.body(body, ins, seen, back)
        self._path = outer
        return outs

    def _span(self, numbers: Any) -> Span | None:
        return None if numbers is None else _span(numbers[self._at])

    def _cotangent(self, numbers: Any) -> Span | None:
        span = self._span(numbers)
        return span if span is not None and span.size else None

    def _rearranged(self, ins: Sequence[int], var: Any) -> Span | None:
        """The span of the input, with as many elements as the output has."""
        span = self.values[ins[0]].span
        if span is None or not span.size:
            return span
        times = int(np.prod(var.aval.shape)) / span.size
        counts = {name: int(getattr(span, name) * times) for name in ("nan", "inf", "zero", "size")}
        return dataclasses.replace(span, **counts)

    def _bounds(self, node: Node, ins: Sequence[int]) -> tuple[float | None, float | None]:
        positions = order(node)
        if positions is None:
            return None, None
        spans = [None if k is None else self.values[ins[k]].span for k in positions[1:]]
        low, high = (s.lo if s is not None and s.lo == s.hi else None for s in spans)
        return low, high

    def _choose(self, length: int, seen: Any, back: Any) -> list[int]:
        """The iterations of a scan to lay out."""
        room = max(2, self._iterations)
        if length <= room:
            return list(range(length))
        quarter = max(1, room // 4)
        ends = {*range(quarter), *range(length - quarter, length)}
        between = set(np.linspace(0, length - 1, quarter, dtype=int).tolist())
        changes: set[int] = set()
        for array in jax.tree.leaves((seen, back)):
            here = array[self._at].reshape(length, -1)
            mark = here if np.issubdtype(array.dtype, np.integer) else _not_finite(array[self._at])
            changed = np.flatnonzero((mark[1:] != mark[:-1]).any(1))[: max(1, quarter // 2)]
            changes |= {int(k) + side for k in changed for side in (0, 1)}
        return sorted(ends | between | set(sorted(changes)[:quarter]))


_LAY = {"op": Builder.op, "call": Builder.called, "remat": Builder.called,
        "scan": Builder.scan, "cond": Builder.cond}  # fmt: skip


def _not_finite(numbers: Any) -> Any:
    """By iteration, whether anything was not finite."""
    counts = numbers[..., 2:4] if numbers.shape[-1] == 6 else np.zeros((*numbers.shape[:1], 1))
    return (counts.reshape(len(counts), -1) > 0).any(1, keepdims=True)


def _span(numbers: Any) -> Span:
    low, high, *counts = (float(x) for x in numbers)
    nan, inf, zero, size = (0 if c != c else int(c) for c in counts)
    return Span(low, high, nan, inf, zero, size)


def _union(spans: Any) -> Span | None:
    found = [span for span in spans if span is not None]
    if not found:
        return None
    counts = {name: sum(getattr(span, name) for span in found) for name in ("nan", "inf", "zero", "size")}
    return Span(min(span.lo for span in found), max(span.hi for span in found), **counts)


def _numbers_of(node: Node) -> list[float]:
    """The numbers written in a call that its derivative depends on."""
    if node.raw == "integer_pow":
        return [node.eqn.params["y"]]
    if node.name == "pow" and len(node.eqn.invars) > 1 and is_literal(node.eqn.invars[1]):
        return [float(np.asarray(node.eqn.invars[1].val))]
    return []
