"""Cuts and zeros: the calls at which a gradient ends, and the sources it costs."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from surrogate.auditing._fate import Fate, Fates, fates, weight
from surrogate.auditing._finding import Finding, Kind, Severity, at, effect
from surrogate.auditing._graph import Graph
from surrogate.auditing._remedies import hint_for, rule_for
from surrogate.auditing._trace import Call
from surrogate.auditing._vocabulary import DELIBERATE, SHAPE_ONLY

#: What ``how`` says of ops that are there to lose a gradient.
_DELIBERATELY = {"detach": "detach", "stop_gradient": "stop_gradient", "no_grad": "runs under no_grad"}


class _Candidate(NamedTuple):
    finding: Finding
    fates: Fates


def lost(graph: Graph, defaults: Mapping[str, str]) -> Iterator[Finding]:
    """Every cut and zero.

    A source that several calls cost is charged to the one whose fate weighs most: one that ends in a term
    of the loss before one that ends in an index.

    Args:
        graph: of the trace.
        defaults: op -> recommended spec, of the ops that the backend captures.
    """
    found = [one for call in graph.trace.calls for one in _candidates(graph, call, defaults)]
    heaviest: dict[str, int] = {}
    for finding, joined in found:
        for name in finding.reaches:
            heaviest[name] = max(heaviest.get(name, 0), weight(joined))
    for finding, joined in found:
        blamed = any(heaviest[name] <= weight(joined) for name in finding.reaches)
        if finding.severity == "error" and finding.reaches and not blamed:
            detail = f"{finding.detail} (another op costs them more)"
            yield dataclasses.replace(finding, severity="info", detail=detail)
        else:
            yield finding


def _candidates(graph: Graph, call: Call, defaults: Mapping[str, str]) -> Iterator[_Candidate]:
    if call.name == "requires_grad":
        if not graph.tainted.isdisjoint(call.ins) and not graph.needed.isdisjoint(call.outs):
            yield _Candidate(at(call, "cut", "error", call.why, hint_for(call)), Counter({Fate.LOSS: 1}))
        return
    live = graph.live_ins(call)
    if not live or call.name in SHAPE_ONLY:
        return
    if call.escape:
        yield from _left(graph, call, live)
        return
    dead = [i for i in call.outs if i in graph.needed and i in graph.tainted and i not in graph.live]
    unfinished = graph.trace.loss is None and not any(i in graph.users for i in dead)
    if dead and not unfinished:
        yield _died(graph, call, live, dead, defaults)


def _left(graph: Graph, call: Call, live: list[int]) -> Iterator[_Candidate]:
    """A value that leaves for Python. Nothing is said of one that is known not to come back."""
    costs = _names(graph, graph.upstream(live) - graph.reached)
    if call.reaches:
        severity: Severity = "error" if costs else ("info" if call.name == "bool" else "warning")
        detail = f"the value leaves the framework and comes back as a constant{effect(costs)}"
        finding = at(call, "cut", severity, detail, hint_for(call) or "keep it an array of the framework")
        yield _Candidate(dataclasses.replace(finding, reaches=costs), Counter({Fate.LOSS: 1}))
    elif call.reaches is None:
        detail = f"the value leaves the framework; nobody could try whether it comes back{effect(costs)}"
        yield _Candidate(at(call, "cut", "info", detail, hint_for(call)), Counter())


def _died(
    graph: Graph, call: Call, live: list[int], dead: list[int], defaults: Mapping[str, str]
) -> _Candidate:
    """A call with a live input and a result that the loss needs and that carries no gradient."""
    deliberate = call.why in DELIBERATE
    joined = fates(graph, call, dead, deliberate)
    costs = _names(graph, graph.upstream(live) - graph.reached)
    severity = _severity(costs, joined, deliberate)
    if severity == "warning":
        only_on_paper = _names(graph, graph.upstream(live))
        if only_on_paper and all(_got_zero(graph, name) for name in only_on_paper):
            severity, costs = "error", only_on_paper
    kind = _kind(call, dead)
    wrong = severity != "info"  # what is sound needs no remedy
    rule = rule_for(call.name, defaults) if wrong and not deliberate else None
    return _Candidate(
        Finding(
            kind,
            call.name,
            call.place,
            severity,
            f"{_how(graph, call, dead, kind)}{effect(costs) or _harmless(severity, joined)}",
            suggestion=hint_for(call) if wrong and rule is None else "",
            rule=rule,
            reaches=costs,
            path=call.path,
        ),
        joined,
    )


def _severity(costs: tuple[str, ...], joined: Fates, deliberate: bool) -> Severity:
    if costs:
        return "error"
    # with a companion it is f(x) + g(x - f(x)): a soft rounding, or the two halves of a number
    silent_term = joined[Fate.TERM] and not deliberate and not joined[Fate.COMPANION]
    return "warning" if joined[Fate.LOSS] or silent_term else "info"


def _got_zero(graph: Graph, name: str) -> bool:
    """Reached on paper only: by a branch that ``where`` does not take, by a factor of zero."""
    size = graph.trace.grads.get(name)
    return size is not None and size.zero


#: Ops whose derivative is zero everywhere, whatever a framework does about it: 0, None or an error.
_STEPS = frozenset(("sign", "sgn", "round", "floor", "ceil", "trunc", "heaviside", "floor_divide"))


def _kind(call: Call, dead: list[int]) -> Kind:
    alive_on_paper = any(ok for i, ok in zip(call.outs, call.live_out, strict=True) if i in dead)
    return "zero" if (alive_on_paper and call.zero_in) or call.name in _STEPS else "cut"


def _how(graph: Graph, call: Call, dead: list[int], kind: str) -> str:
    if call.raises:
        return f"backward raises: {call.raises}"
    if call.why:
        return _DELIBERATELY.get(call.why, call.why)
    if kind == "zero":
        return "its derivative is zero everywhere"
    return f"its result ({graph.trace.values[dead[0]].dtype}) cannot carry a gradient"


def _harmless(severity: Severity, joined: Fates) -> str:
    if severity == "warning":
        return "; a term of the loss has no gradient"
    words = {
        Fate.SELECT: "masks or indices",
        Fate.COMPANION: "a straight-through or fractional part",
        Fate.FACTOR: "factors",
        Fate.TERM: "terms",
    }
    roles = [words[fate] for fate in sorted(joined) if fate in words]
    return f"; only {', '.join(roles)} depend on it" if roles else ""


def _names(graph: Graph, ids: set[int]) -> tuple[str, ...]:
    return tuple(sorted(graph.trace.sources[i] for i in ids))
