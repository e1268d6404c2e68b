"""Where an override changes a gradient that was right: rules of one op do not know what stands beside it."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from surrogate.auditing._finding import Finding, at
from surrogate.auditing._graph import Graph
from surrogate.auditing._trace import Call, Place

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
