"""Along the depth of a program: how much of the gradient at its end is left at its start."""

from __future__ import annotations

from collections.abc import Iterator

from surrogate.auditing._finding import Finding, at
from surrogate.auditing._graph import Graph
from surrogate.auditing._trace import Call
from surrogate.auditing._vocabulary import HEAVY

#: Sound models keep 3e-5 to 6.2 (measured); ten sigmoid layers 2e-9, forty steps of gain two 2e9.
VANISHES, EXPLODES = 1e-6, 1e6

#: Fewer layers say nothing about depth.
_LAYERS = 4


def layers(graph: Graph) -> list[Call]:
    """The matmul-like calls that a gradient of the loss passes through, in forward order."""
    return [call for call in graph.trace.calls if call.name in HEAVY and graph.counts(call)]


def depth(graph: Graph) -> Iterator[Finding]:
    """Vanishing and exploding gradients.

    The largest cotangents are compared, the best of the first eighth with the best of the last quarter, so
    that one quiet head does not speak for all. Exact zeros do not count: a gate that is initialised to
    zero is no vanishing gradient.
    """
    sizes = [
        (call, call.g_out.big)
        for call in layers(graph)
        if call.g_out is not None and not call.g_out.bad and call.g_out.big > 0
    ]
    if len(sizes) < _LAYERS:
        return
    end = max(size for _, size in sizes[-max(1, len(sizes) // 4) :])
    start = max(size for _, size in sizes[: max(1, len(sizes) // 8)])
    first, ratio = sizes[0][0], start / end
    if ratio < VANISHES:
        detail = f"the gradient shrinks to {ratio:.1e} over {len(sizes)} layers"
        remedy = "normalisation, residual connections, another activation or initialisation"
        yield at(first, "vanishing", "warning", detail, remedy)
    elif ratio > EXPLODES:
        detail = f"the gradient grows by {ratio:.1e} over {len(sizes)} layers"
        remedy = "clip the gradient norm, normalise, a smaller initialisation"
        yield at(first, "exploding", "warning", detail, remedy)
