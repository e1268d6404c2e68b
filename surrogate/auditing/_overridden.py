"""Where an override changes a gradient that was right: rules of one op do not know what stands beside it."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from surrogate.auditing._finding import Finding, at
from surrogate.auditing._graph import Graph
from surrogate.auditing._trace import Call, Place
from surrogate.auditing._vocabulary import DELIBERATE

_SUMS = ("add", "sub", "rsub")
_CURE = "leave this call native: put it outside the override"


def cancelled(graph: Graph) -> Iterator[Finding]:
    """Calls under a rule whose result meets, in a difference, what it was made of.

    ``x - floor(x)`` has gradient 1; under ``floor:identity`` it has gradient 1 - 1 = 0. The same becomes of
    a minimum image and of a straight-through estimator that is written out.
    """
    for call in graph.trace.calls:
        if call.rule and graph.counts(call):
            for place in _differences(graph, call):
                spec = call.rule.partition(":")[2]
                detail = (
                    f"{spec} cancels at {Path(place.file).name}:{place.line}: under {call.rule} it meets "
                    "what it was made of in a difference, and the native gradient was right"
                )
                yield at(call, "zero", "warning", detail, _CURE)
                break


def doubled(graph: Graph) -> Iterator[str]:
    """What to say of calls under a rule beside a straight-through estimator that somebody wrote by hand.

    ``round(x) + (x - x.detach())`` has gradient 1; under ``round:identity`` it has gradient 1 + 1 = 2.
    """
    for call in graph.trace.calls:
        if call.rule and graph.counts(call) and (place := _estimator(graph, call)) is not None:
            op, _, spec = call.rule.partition(":")
            where = f"{Path(place.file).name}:{place.line}"
            yield f"{op}: {spec} counts double at {where}, beside a gradient written by hand: {_CURE}"


def _estimator(graph: Graph, call: Call) -> Place | None:
    """Where the result of a call is added to its input minus a copy of that without a gradient."""
    starts = graph.live_ins(call)
    for out in call.outs:
        for top in _sums(graph, out):
            terms = list(_terms(graph, top.outs[0], 1))
            plus = [i for i, sign in terms if sign > 0 and i in graph.live and i not in call.outs]
            minus = [i for i, sign in terms if sign < 0 and _is_stopped(graph, starts, i)]
            if (out, 1) in terms and minus and any(graph.companions(starts, i) for i in plus):
                return top.place
    return None


def _sums(graph: Graph, i: int) -> Iterator[Call]:
    """The sums and differences that a value is a term of, the nearest first."""
    seen: set[int] = set()
    todo = [i]
    while todo:
        i = todo.pop(0)
        for user, _ in graph.users[i]:
            if user.name in _SUMS and not user.rule and user.outs[0] not in seen:
                seen.add(user.outs[0])
                yield user
                todo.append(user.outs[0])


def _terms(graph: Graph, i: int | None, sign: int) -> Iterator[tuple[int, int]]:
    """The terms of a value that is made by sums and differences, with their signs."""
    made = None if i is None else graph.maker.get(i)
    if made is None or made.name not in _SUMS or made.rule:
        if i is not None:
            yield i, sign
        return
    signs = {"sub": (1, -1), "rsub": (-1, 1)}.get(made.name, (1,) * len(made.ins))
    for j, own in zip(made.ins, signs, strict=False):
        yield from _terms(graph, j, sign * own)


def _is_stopped(graph: Graph, starts: list[int], i: int) -> bool:
    """Whether a value is a copy, without a gradient, of what these are made of."""
    made = graph.maker.get(i)
    if made is not None:
        return made.name in DELIBERATE and any(graph.companions(starts, j) for j in made.ins if j is not None)
    escapes = (one for one in graph.trace.calls if one.escape and i not in graph.trace.sources)
    return any(graph.companions(starts, j) for one in escapes for j in one.ins if j is not None)


def _differences(graph: Graph, call: Call) -> Iterator[Place]:
    """Where the result of a call, through sums and views, meets a value that its input is made of."""
    starts = graph.live_ins(call)
    made = set(call.outs)
    for user in (user for out in _scaled(graph, call.outs) for user, _ in graph.users[out]):
        if user.name in ("sub", "rsub") and not user.rule:
            others = [i for i in graph.live_ins(user) if i not in made]
            if any(graph.companions(starts, i) and graph.roots([i]).isdisjoint(made) for i in others):
                yield user.place


def _scaled(graph: Graph, ids: Iterable[int]) -> list[int]:
    """These values and what they become by a scaling or a view."""
    found = list(ids)
    for i in found:
        for user, _ in graph.users[i]:
            if user.name in ("mul", "div", "view", "cast", "neg", "expand"):
                found += [out for out in user.outs if out not in found]
    return found


def with_other_uses(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings with a rule, told which sound lines the rule would change too."""
    findings = tuple(found)
    sound: defaultdict[str, set[Place]] = defaultdict(set)
    for finding in findings:
        if finding.severity == "info" and finding.kind in ("cut", "zero"):
            sound[finding.op].add(finding.where)
    return tuple(
        dataclasses.replace(finding, also=tuple(sorted(sound[finding.op])))
        if finding.rule and finding.at_least("warning")
        else finding
        for finding in findings
    )
