"""From a trace to a report: every rule asked once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from surrogate.auditing._activations import activations
from surrogate.auditing._depth import depth
from surrogate.auditing._finding import Finding, merged
from surrogate.auditing._graph import Graph
from surrogate.auditing._layers import layers
from surrogate.auditing._lost import lost
from surrogate.auditing._nonfinite import nonfinite
from surrogate.auditing._overridden import cancelled, doubled, with_other_uses
from surrogate.auditing._precision import PROBED, in_half, precision
from surrogate.auditing._remedies import DISCRETE, hint_for
from surrogate.auditing._report import Report
from surrogate.auditing._sound import Ignored, is_sound
from surrogate.auditing._trace import Call, Trace
from surrogate.auditing._unstable import unstable


class Options(NamedTuple):
    """What the caller of an audit wants to see.

    Attributes:
        kinds: kinds of findings; empty for all.
        level: severity from which on findings are printed.
        ignore: kind and ``file.py:line`` of findings that are declared sound.
        probes: dtypes to try without a second run.
    """

    kinds: frozenset[str] = frozenset()
    level: str = "warning"
    ignore: tuple[Ignored, ...] = ()
    probes: tuple[str, ...] = ()


def judge(
    trace: Trace,
    defaults: Mapping[str, str],
    options: Options = Options(),  # noqa: B008  # immutable
    rules: Mapping[str, str] | None = None,
) -> Report:
    """The report of a trace.

    Args:
        trace: a program that ran once.
        defaults: op -> recommended spec, of the ops that the backend captures.
        options: what to look for and to show.
        rules: the override that was in force, as op -> spec.
    """
    graph = Graph(trace)
    wanted = [f for f in _found(graph, defaults, options) if not options.kinds or f.kind in options.kinds]
    findings = with_other_uses(merged(wanted))
    kept = tuple(finding for finding in findings if not is_sound(finding, options.ignore))
    return Report(
        backend=trace.backend,
        findings=kept,
        sources=len(trace.sources),
        reached=len(graph.reached),
        unreached={} if trace.raised else _unreached(graph),
        gradients={
            name: None if (size := trace.grads.get(name)) is None else size.gradient
            for name in trace.sources.values()
        },
        layers=layers(graph),
        ops=len(trace.calls),
        level=options.level,
        rules=dict(rules or {}),
        notes=(*trace.notes, *doubled(graph), *_disagreements(graph, rules or {})),
        ignored=len(findings) - len(kept),
    )


def _found(graph: Graph, defaults: Mapping[str, str], options: Options) -> Iterator[Finding]:
    if graph.trace.raised is not None:
        yield _untraceable(graph.trace)
        return
    yield from lost(graph, defaults)
    yield from cancelled(graph)
    yield from nonfinite(graph)
    yield from unstable(graph)
    yield from precision(graph)
    yield from activations(graph, defaults)
    yield from depth(graph)
    for dtype in (probe for probe in options.probes if probe in PROBED):
        yield from in_half(graph, dtype)


def _untraceable(trace: Trace) -> Finding:
    assert trace.raised is not None
    place, op, message = trace.raised
    costs = tuple(sorted(trace.sources.values()))
    hint = hint_for(Call(op, op, place, [], [], []))
    return Finding("cut", op, place, "error", message, suggestion=hint, reaches=costs)


def _unreached(graph: Graph) -> dict[str, str]:
    """Why a source has no gradient: a path joins it to the loss and is cut, or there is none."""
    return {
        name: "cut" if i in graph.needed else "unused"
        for i, name in graph.trace.sources.items()
        if i not in graph.reached
    }


def _disagreements(graph: Graph, rules: Mapping[str, str]) -> Iterator[str]:
    """Where the recorded structure and the numbers of the backward pass contradict each other.

    Under a rule for a comparison or an index that is no contradiction: its result carries no gradient
    itself, what carries it goes beside it.
    """
    names = graph.trace.sources
    beside = not DISCRETE.keys().isdisjoint(rules)
    for name in sorted(names[i] for i in graph.against if not beside):
        yield (
            f"{name} has a gradient, but no path was recorded that carries one: the backend missed an op. "
            "The gradient counts"
        )
    for name in sorted(names[i] for i in graph.missing):
        yield (
            f"{name} has no gradient, but a path was recorded that carries one: the backend missed what "
            "cuts it. It counts as cut"
        )
