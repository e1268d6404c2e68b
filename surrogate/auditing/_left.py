"""Values that leave the framework for Python: do they come back?

A value that is only logged changes nothing. Whether it does is tried: the program runs again with the value
changed by one per cent at that place, and the loss is compared bit for bit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from surrogate.auditing._graph import Graph, tainted
from surrogate.auditing._trace import Call, Place, Trace
from surrogate.auditing._vocabulary import SHAPE_ONLY

#: Says, at a place where a value leaves, whether it is to be changed there.
Nudge = Callable[[Place], bool]

#: Runs the program again and returns its loss; a place where the nudge says so hands out a changed value.
Rerun = Callable[[Nudge | None], float]

RANDOM = "the program is random, so nobody can tell whether the values that left for Python came back"


def nudged(value: Any) -> Any:
    """A number, list or array, changed a little: integers by one, booleans and anything else not at all."""
    if isinstance(value, float):
        return value * 1.01 + 0.003
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return type(value)(value + 1)
    if isinstance(value, list):
        return [nudged(one) for one in value]
    if isinstance(value, (np.ndarray, np.floating)) and value.dtype.kind == "f":
        changed = value * 1.01 + 0.003
        return np.asarray(changed, value.dtype) if isinstance(value, np.ndarray) else type(value)(changed)
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
        return value + value.dtype.type(1)
    return value


def came_back(trace: Trace, loss: float, rerun: Rerun | None) -> None:
    """Set ``reaches`` of the trace's escapes: does the loss change when the value does?

    Args:
        trace: what was recorded; of its escapes, those matter that a source leads to.
        loss: the loss of the recorded run.
        rerun: None where the program cannot run again.
    """
    depends = tainted(trace)
    places: defaultdict[Place, list[Call]] = defaultdict(list)
    integers = []
    for call in trace.calls:
        i = call.ins[0] if call.escape and call.ins else None
        if i is not None and call.reaches is None and i in depends:
            if trace.values[i].inexact:
                places[call.place].append(call)
            elif call.name != "bool":
                integers.append(call)
    if integers and _lonely(Graph(trace)):  # an index or a count is no loss where every source has a path
        for call in integers:
            places[call.place].append(call)
    if not places or rerun is None:
        return
    again = rerun(None)
    if again != loss and not (np.isnan(again) and np.isnan(loss)):
        trace.notes.append(RANDOM)
        return
    for place, calls in places.items():
        moved = _moves(rerun, place, loss)
        for call in calls:
            call.reaches = moved
    _name_the_detach(trace)


def _moves(rerun: Rerun, place: Place, loss: float) -> bool:
    try:
        changed = rerun(lambda where: where == place)
    except Exception:  # the program stumbles over the changed value, so it uses it
        return True
    return changed != loss and not (np.isnan(changed) and np.isnan(loss))


def _name_the_detach(trace: Trace) -> None:
    """Of ``x.detach().numpy()`` the detach is what cuts, and the line to name."""
    for number, call in enumerate(trace.calls):
        if call.name in ("detach", "stop_gradient"):
            ahead = set(call.outs)
            for later in trace.calls[number + 1 :]:
                if not ahead.isdisjoint(later.ins):
                    ahead.update(later.outs)
                    if later.escape and later.reaches:
                        call.escape = call.reaches = True
                        break


def untracked(trace: Trace, again: Callable[[frozenset[str], float], Trace]) -> None:
    """Tell sources that nothing uses from those whose value travels outside the framework.

    All sources that no recorded path joins to the loss are changed together: first by one per cent, then in
    sign, for what only depends on an order. If the loss moves, their value comes back somewhere. The line to
    name is where it was seen last; or, if it was never seen, the first call with an input that no call made
    and that now differs, where a call ``untracked`` is put into the trace.

    Args:
        trace: what was recorded.
        again: records the program once more, with the named sources changed and then times the number.
    """
    graph = Graph(trace)
    lonely = _lonely(graph)
    if not lonely or trace.loss is None or trace.raised is not None:
        return
    if not _same(trace, again(frozenset(), 1.0)):
        trace.notes.append(RANDOM)
        return
    for sign in (1.0, -1.0):
        try:
            changed = again(frozenset(trace.sources[i] for i in lonely), sign)
        except Exception:  # the program stumbles over the changed value: that tells nothing
            return
        if not _same(trace, changed):
            _name_the_way_back(trace, graph, lonely, changed)
            return


def _lonely(graph: Graph) -> list[int]:
    """The sources that no recorded path joins to the loss, nor to a value that came back."""
    calls = (call for call in graph.trace.calls if call.reaches)
    told = {i for call in calls for i in graph.upstream(graph.live_ins(call))}
    return [i for i in graph.trace.sources if i not in graph.needed | told]


def _name_the_way_back(trace: Trace, graph: Graph, lonely: list[int], changed: Trace) -> None:
    ahead = set(lonely)
    last = None
    for call in trace.calls:
        if call.name not in SHAPE_ONLY and not ahead.isdisjoint(call.ins):
            ahead.update(call.outs)
            if call.reaches is not False and all(out not in graph.users for out in call.outs):
                last = call
    if last is not None:
        last.escape = last.reaches = True
        return
    number = _returns_at(trace, changed)
    place = trace.calls[number].place if trace.calls else Place("?", 0, "?")
    call = Call("untracked", "untracked", place, [*lonely], [], [], escape=True, reaches=True)
    trace.calls.insert(number, call)


def _same(one: Trace, other: Trace) -> bool:
    """Whether both runs have the same loss, bit for bit."""
    losses = [None if t.loss is None else t.values[t.loss].span for t in (one, other)]
    return losses[0] == losses[1]


def _returns_at(trace: Trace, changed: Trace) -> int:
    """Number of the first call with an input from outside that differs between the two runs."""
    made: set[int] = set(trace.sources)
    for number, (call, other) in enumerate(zip(trace.calls, changed.calls, strict=False)):
        for i, j in zip(call.ins, other.ins, strict=False):
            outside = i is not None and j is not None and i not in made
            if outside and trace.values[i].span != changed.values[j].span:  # type: ignore[index]
                return number
        made.update(call.outs)
    return 0
