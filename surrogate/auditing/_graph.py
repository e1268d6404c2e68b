"""Which values depend on a source, which carry a gradient to one, and which the loss needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from surrogate.auditing._trace import Call, Trace
from surrogate.auditing._vocabulary import LINEAR, SHAPE_ONLY

#: How many sums, scalings and views lie at most between a value and its companion.
_REACH = 12


def tainted(trace: Trace) -> set[int]:
    """Ids of the values that depend on a source by value, not by shape only."""
    found = set(trace.sources)
    for call in trace.calls:
        if call.name not in SHAPE_ONLY and not found.isdisjoint(call.ins):
            found.update(call.outs)
    return found


class Graph:
    """A trace as a graph.

    Attributes:
        maker: id -> the call that made the value.
        users: id -> the calls that take it, with the position.
        tainted: what depends on a source by value.
        live: what carries a gradient to a source through no derivative that is zero.
        needed: what leads to the loss by value, by way of Python too; everything, if the program failed
            before it had one.
        on_path: the live values that a gradient of the loss arrives at.
        reached: the sources that a gradient of the loss reaches. The numbers of the backward pass win over
            the structure: they say so of ``against`` and deny it of ``missing``.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.maker: dict[int, Call] = {}
        self.users: defaultdict[int, list[tuple[Call, int]]] = defaultdict(list)
        for call in trace.calls:
            self.maker.update((out, call) for out in call.outs)
            for position, i in enumerate(call.ins):
                if i is not None:
                    self.users[i].append((call, position))
        self.tainted = tainted(trace)
        self.live = self._live()
        self.needed = self._needed()
        ends = self.live if trace.loss is None else {trace.loss}
        self.on_path = self._back(ends)
        self.reached = self.on_path & trace.sources.keys()
        self.against = self._with_gradient() - self.reached
        self.missing = self._without() & self.reached
        self.reached = (self.reached | self.against) - self.missing

    def _with_gradient(self) -> set[int]:
        """The sources that the backward pass gave numbers to."""
        grads = self.trace.grads
        return {i for i, name in self.trace.sources.items() if (got := grads.get(name)) and not got.zero}

    def _without(self) -> set[int]:
        """The sources that the backward pass gave nothing, where it ran and gave others something."""
        grads = self.trace.grads
        if not any(grads.values()):
            return set()
        return {i for i, name in self.trace.sources.items() if name in grads and grads[name] is None}

    def _live(self) -> set[int]:
        live = set(self.trace.sources)
        for call in self.trace.calls:
            if not call.raises and any(i in live for i in passing(call)):
                live.update(out for out, ok in zip(call.outs, call.live_out, strict=True) if ok)
        return live

    def _needed(self) -> set[int]:
        if self.trace.loss is None:
            return set(self.trace.values)
        needed: set[int] = set()
        came_back = [i for call in self.trace.calls if call.reaches for i in call.ins if i is not None]
        todo = [self.trace.loss, *came_back]
        while todo:
            i = todo.pop()
            if i not in needed:
                needed.add(i)
                if i in self.maker and self.maker[i].name not in SHAPE_ONLY:
                    todo += [j for j in self.maker[i].ins if j is not None]
        return needed

    def _back(self, ends: Iterable[int]) -> set[int]:
        """The live values that a gradient at ``ends`` flows back to."""
        seen: set[int] = set()
        todo = [i for i in ends if i in self.live]
        while todo:
            i = todo.pop()
            if i not in seen:
                seen.add(i)
                if i in self.maker:
                    todo += [j for j in passing(self.maker[i]) if j in self.live]
        return seen

    def upstream(self, ids: Iterable[int]) -> set[int]:
        """The sources that live paths join to these values."""
        return self._back(ids) & self.trace.sources.keys()

    def live_ins(self, call: Call) -> list[int]:
        """The live inputs of a call."""
        return [i for i in call.ins if i is not None and i in self.live]

    def counts(self, call: Call) -> bool:
        """Whether a gradient of the loss passes through this call."""
        return bool(self.live_ins(call)) and any(out in self.on_path for out in call.outs)

    def made_by(self, i: int | None) -> str:
        """Name of the op that made a value; empty for an input of the program."""
        return self.maker[i].name if i in self.maker else ""

    def roots(self, ids: Iterable[int]) -> set[int]:
        """The live values that ``ids`` are made of by sums, scalings, remainders and views only."""
        todo, seen = [(i, 0) for i in ids], set()
        while todo:
            i, depth = todo.pop()
            if i in seen or depth > _REACH or i not in self.live:
                continue
            seen.add(i)
            if self.made_by(i) in LINEAR:
                todo += [(j, depth + 1) for j in self.maker[i].ins if j is not None]
        return seen

    def companions(self, starts: Iterable[int], i: int) -> bool:
        """Whether value ``i`` is made of the same live value as ``starts``.

        The two are then the halves of a straight-through estimator, or of a number and its fraction.
        """
        return not self.roots(starts).isdisjoint(self.roots([i]))


def passing(call: Call) -> list[int]:
    """The inputs of a call that its derivative is not zero by."""
    return [i for position, i in enumerate(call.ins) if i is not None and position not in call.zero_in]
