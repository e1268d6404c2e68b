"""What becomes of values that have lost their gradient: where do they meet live ones again?"""

from __future__ import annotations

from collections import Counter
from enum import IntEnum

from surrogate.auditing._graph import Graph
from surrogate.auditing._trace import Call
from surrogate.auditing._vocabulary import ADDITIVE, DELIBERATE, LINEAR, PICKS, SHAPE_ONLY


class Fate(IntEnum):
    """How dead values take part in the loss, the weightier the larger."""

    SELECT = 0  #: as an index, mask or predicate
    COMPANION = 1  #: beside something made of the same live value: a straight-through, a fractional part
    FACTOR = 2  #: as a factor of something live
    TERM = 3  #: as a term of something live: it adds to the loss and no gradient knows
    LOSS = 4  #: it is the loss


Fates = Counter[Fate]

#: Charging a source to a cause, a term is as bad as the loss.
_WEIGHT = {Fate.SELECT: 0, Fate.COMPANION: 1, Fate.FACTOR: 2, Fate.TERM: 3, Fate.LOSS: 3}


def weight(fates: Fates) -> int:
    """How much the weightiest of them weighs."""
    return max((_WEIGHT[fate] for fate in fates), default=0)


def fates(graph: Graph, call: Call, dead: list[int], deliberate: bool) -> Fates:
    """Follow the dead values of a call forward to where each joins live ones.

    Args:
        graph: of the trace.
        call: where they lost their gradient.
        dead: their ids.
        deliberate: whether losing it is what the op is for.
    """
    found: Fates = Counter()
    todo, seen, starts = [(i, deliberate) for i in dead], set[tuple[int, bool]](), graph.live_ins(call)
    while todo:
        i, meant = todo.pop()
        if (i, meant) in seen:
            continue
        seen.add((i, meant))
        if i == graph.trace.loss:
            found[Fate.LOSS] += 1
        for user, position in graph.users[i]:
            if user.name in SHAPE_ONLY or (user.escape and not user.reaches):
                continue
            if user.escape:
                found[Fate.TERM] += 1  # it comes back as a number, and nobody knows where
            # also where a later detach says so, or where it picks among values that were detached
            meant_now = meant or user.why in DELIBERATE or (user.name in PICKS and _of_detached(graph, user))
            for out in user.outs:
                if out not in graph.needed:
                    continue
                if out in graph.live:
                    found[_joined(graph, user, position, i, starts, meant)] += 1
                elif out in graph.tainted:
                    todo.append((out, meant_now))
    return found


def _joined(graph: Graph, user: Call, position: int, i: int, starts: list[int], deliberate: bool) -> Fate:
    """How the dead value ``i`` takes part in a call whose result is live."""
    value = graph.trace.values.get(i)
    if value is not None and not value.inexact:
        return Fate.SELECT
    others = [j for j in graph.live_ins(user) if j != i]
    meets = user.name in ("sub", "rsub") or (deliberate and user.name in LINEAR | ADDITIVE)
    if meets and any(graph.companions(starts, j) for j in others):
        return Fate.COMPANION
    if user.name in LINEAR and any(_less_detached(graph, i, j) or _later(graph, user, j) for j in others):
        return Fate.COMPANION
    if deliberate and user.name in ADDITIVE:
        return Fate.FACTOR  # a constant, and meant as one
    if user.name == "where" and (position == 0 or _not_taken(user)):
        return Fate.FACTOR
    return Fate.TERM if user.name in ADDITIVE else Fate.FACTOR


def _of_detached(graph: Graph, call: Call) -> bool:
    """Whether the values that a call picks from were meant to carry no gradient."""
    todo = [i for i in call.ins if i is not None and i in graph.tainted and i not in graph.live]
    todo, seen = [i for i in todo if graph.trace.values[i].inexact], set[int]()
    while todo:
        i = todo.pop()
        maker = graph.maker.get(i)
        if maker is None or i in seen:
            continue
        seen.add(i)
        if maker.why in DELIBERATE:
            return True
        todo += [j for j in maker.ins if j in graph.tainted and j not in graph.live]
    return False


def _not_taken(where: Call) -> bool:
    """Whether all of the gradient at a choice between two branches went to the live one in this run."""
    arrived, passed = where.g_out, next((span for span in where.g_in if span is not None), None)
    return (
        arrived is not None
        and passed is not None
        and (arrived.size, arrived.zero) == (passed.size, passed.zero)
    )


def _less_detached(graph: Graph, i: int, live: int) -> bool:
    """Whether the dead ``i`` has, in its sums, a detached value of what ``live`` is made of.

    ``hard - soft.detach() + soft`` is a straight-through, whatever ``hard`` was made of.
    """
    roots = graph.roots([live])
    todo, seen = [i], set[int]()
    while todo:
        j = todo.pop()
        maker = graph.maker.get(j)
        if maker is None or j in seen:
            continue
        seen.add(j)
        operands = [k for k in maker.ins if k is not None]
        if maker.name in ("detach", "stop_gradient"):
            if not roots.isdisjoint(graph.roots(operands)):
                return True
        elif maker.name in LINEAR:
            todo += [k for k in operands if k not in graph.live]
    return False


def _later(graph: Graph, joined: Call, live: int) -> bool:
    """Whether such a detached value comes later in the same sum: ``hard + soft - soft.detach()``."""
    todo, seen = [*joined.outs], set[int]()
    while todo:
        i = todo.pop()
        if i in seen:
            continue
        seen.add(i)
        for user, _ in graph.users[i]:
            if user.name in ("add", "sub", "rsub"):
                dead = [k for k in user.ins if k is not None and k not in graph.live]
                if any(_less_detached(graph, k, live) for k in dead):
                    return True
                todo += user.outs
    return False
