"""Along the depth of a program: how much of the gradient at its end is left at its start.

The depth is that of layers, and of loops without a layer: a simulation, a map that is applied again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from surrogate.auditing._finding import Finding, at
from surrogate.auditing._graph import Graph, passing
from surrogate.auditing._trace import Call, Place
from surrogate.auditing._vocabulary import HEAVY

#: Sound models keep 3e-5 to 6.2 (measured); ten sigmoid layers 2e-9, forty steps of gain two 2e9.
VANISHES, EXPLODES = 1e-6, 1e6

#: Fewer layers say nothing about depth.
_LAYERS = 4

#: A line whose op runs so often, each time on what the time before made, is a loop.
_TURNS = 8


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
        sizes = _sizes(chain)
        if len(sizes) >= _LAYERS:
            yield from _compared(sizes, _ratio(sizes, ends), "layers")
    yield from _loops(graph)


def _sizes(calls: list[Call]) -> list[tuple[Call, float]]:
    """The calls with a cotangent that tells something, and its largest element."""
    return [(c, c.g_out.big) for c in calls if c.g_out is not None and not c.g_out.bad and c.g_out.big > 0]


def _ratio(sizes: list[tuple[Call, float]], ends: set[int]) -> float:
    """The gradient at the start of a chain, in forward order, over that at its end."""
    last = sizes[-max(1, len(sizes) // 4) :]
    end = max(size for call, size in sizes if id(call) in ends or (call, size) in last)
    start = max(size for _, size in sizes[: max(1, len(sizes) // 8)])
    return start / end


def _compared(sizes: list[tuple[Call, float]], ratio: float, what: str) -> Iterator[Finding]:
    first = sizes[0][0]
    if ratio < VANISHES:
        detail = f"the gradient shrinks to {ratio:.1e} over {len(sizes)} {what}"
        remedy = "normalisation, residual connections, another activation or initialisation"
        yield at(first, "vanishing", "warning", detail, remedy)
    elif ratio > EXPLODES:
        detail = f"the gradient grows by {ratio:.1e} over {len(sizes)} {what}"
        remedy = "clip the gradient norm, normalise, a smaller initialisation"
        yield at(first, "exploding", "warning", detail, remedy)


def _loops(graph: Graph) -> Iterator[Finding]:
    """Loops that no layer is in.

    A gradient that vanishes along one is a finding if nothing else brings it to a source: an average that
    forgets what is long ago is meant to.
    """
    lines: defaultdict[tuple[Place, str], list[Call]] = defaultdict(list)
    for call in graph.trace.calls:
        if call.name not in HEAVY and graph.counts(call):
            lines[call.place, call.name].append(call)
    told = set[Place]()
    for (place, _), calls in lines.items():
        sizes = _sizes(calls)
        if len(sizes) < _TURNS or place in told:
            continue
        ratio = _ratio(sizes, set())
        if VANISHES <= ratio <= EXPLODES or not _is_loop(graph, sizes[0][0], sizes[-1][0]):
            continue
        if ratio > EXPLODES or _starves(graph, sizes):
            told.add(place)
            yield from _compared(sizes, ratio, "turns of a loop")


def _is_loop(graph: Graph, first: Call, last: Call) -> bool:
    """Whether the last call is made of what the first one made, and no layer lies between."""
    ahead, between = set(first.outs) & graph.on_path, list[Call]()
    for call in graph.trace.calls:
        if not ahead.isdisjoint(passing(call)):
            ahead.update(out for out in call.outs if out in graph.on_path)
            between.append(call)
        if call is last:
            break
    if ahead.isdisjoint(last.outs):
        return False
    back = set(last.ins)
    for call in reversed(between):
        if not back.isdisjoint(call.outs):
            back.update(passing(call))
            if call.name in HEAVY:
                return False
    return True


def _starves(graph: Graph, sizes: list[tuple[Call, float]]) -> bool:
    """Whether the sources at the start of a loop get little more than what arrives there."""
    names = (graph.trace.sources[i] for i in graph.upstream(graph.live_ins(sizes[0][0])))
    found = [graph.trace.grads.get(name) for name in names]
    end = max(size for _, size in sizes)
    return all(size is not None and size.gradient < VANISHES * end for size in found)


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
