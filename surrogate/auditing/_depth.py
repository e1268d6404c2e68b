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

    The largest cotangents are compared, the best of the first eighth with the best of the last quarter and of
    the layers that nothing lies behind, so that one quiet head does not speak for all. Exact zeros do not
    count: a gate that is initialised to zero is no vanishing gradient.
    """
    for chain, ends in _chains(graph):
        sizes = [
            (call, call.g_out.big)
            for call in chain
            if call.g_out is not None and not call.g_out.bad and call.g_out.big > 0
        ]
        if len(sizes) >= _LAYERS:
            yield from _compared(sizes, ends)


def _compared(sizes: list[tuple[Call, float]], ends: set[int]) -> Iterator[Finding]:
    """The layers of one chain, in forward order."""
    last = sizes[-max(1, len(sizes) // 4) :]
    end = max(size for call, size in sizes if id(call) in ends or (call, size) in last)
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


def _chains(graph: Graph) -> Iterator[tuple[list[Call], set[int]]]:
    """The layers that lie behind one another, and id() of those that nothing lies behind.

    Towers that meet in the loss only are apart: what is large in one says nothing of the other.
    """
    heavy = {id(call) for call in layers(graph)}
    before: dict[int, set[int]] = {}  # value -> the nearest layers that it is made of
    chain_of: dict[int, list[Call]] = {}
    ends = set(heavy)
    for call in graph.trace.calls:
        nearest = set[int]().union(*(before.get(i, ()) for i in call.ins if i is not None))
        if id(call) in heavy:
            ends -= nearest
            met = {id(chain_of[key]): chain_of[key] for key in nearest}
            mine, *others = sorted(met.values(), key=len, reverse=True) or [[]]
            for joined in ([call], *others):
                mine += joined
                chain_of.update((id(one), mine) for one in joined)
            nearest = {id(call)}
        if nearest:
            before.update((out, nearest) for out in call.outs)
    order = {id(call): number for number, call in enumerate(graph.trace.calls)}
    for chain in {id(found): found for found in chain_of.values()}.values():
        yield sorted(chain, key=lambda call: order[id(call)]), ends
