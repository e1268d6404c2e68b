"""Activations that pass no gradient: dead ones on their flat side, saturated ones on their flat ends."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from surrogate.auditing._finding import Finding, at
from surrogate.auditing._graph import Graph
from surrogate.auditing._remedies import rule_for
from surrogate.auditing._trace import Call
from surrogate.auditing._vocabulary import SATURATING, STRICT

#: Sound models have at most 16 % of their elements on the flat ends (measured, the gates of an LSTM).
SATURATED = 0.9

#: In sound models at least 37 % of the elements pass a gradient (measured).
SILENT = 0.5


def activations(graph: Graph, defaults: Mapping[str, str]) -> Iterator[Finding]:
    """Dead and saturated activations that a gradient of the loss passes through."""
    for call in graph.trace.calls:
        if not graph.counts(call):
            continue
        if call.name in STRICT and call.passed == 0.0:
            yield _dead(graph, call, defaults)
        elif call.name in STRICT and (call.unit_dead or 0.0) >= SILENT:
            detail = f"{call.unit_dead:.0%} of the units pass no gradient for any example of the batch"
            yield at(call, "dead", "warning", detail, "check the bias and the scale of what comes in")
        elif call.name in SATURATING and (call.steep or 0.0) >= SATURATED:
            detail = f"{call.steep:.0%} of the elements have under 1 % of the largest derivative"
            remedy = "scale what comes in (normalise the inputs), or a ReLU-like activation"
            yield at(call, "saturated", "warning", detail, remedy)


def _dead(graph: Graph, call: Call, defaults: Mapping[str, str]) -> Finding:
    """No element passes a gradient. That is sound where every source gets one by another way."""
    grads = graph.trace.grads
    feeding = sorted(graph.trace.sources[i] for i in graph.upstream(graph.live_ins(call)))
    starved = tuple(name for name in feeding if (size := grads.get(name)) is None or size.zero)
    effect = f"the gradient of {', '.join(starved[:4])} is zero" if starved else "nothing depends on it alone"
    detail = f"no element passes a gradient: every input is on its flat side; {effect}"
    finding = at(call, "dead", "error" if starved else "info", detail)
    rule = rule_for(call.name, defaults)
    remedy = "" if rule else "another initialisation, or a leaky form"
    return dataclasses.replace(finding, rule=rule, suggestion=remedy, reaches=starved)
