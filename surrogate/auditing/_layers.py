"""The layers of a program with their numbers, to read: no finding is made from them."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from surrogate.auditing._depth import layers as heavy
from surrogate.auditing._graph import Graph
from surrogate.auditing._trace import Call, Place
from surrogate.auditing._vocabulary import HEAVY, LINEAR

#: An activation stands at most so many calls behind its layer (a normalisation and views come first).
_NEAR = 16


@dataclass(frozen=True)
class Layer:
    """A matrix product or convolution, and the activation behind it.

    Attributes:
        name: the module, or the source that it takes, or the op.
        where: file, line and function of the user's.
        cotangent: the largest magnitude of the gradient at its output; None where none arrived.
        gradient: norm of the gradient of its sources.
        weight: norm of its sources.
        saturated: share of flat elements of the activation behind it; None if there is none.
        dead: share of silent elements of the activation behind it; None if there is none.
    """

    name: str
    where: Place
    cotangent: float | None
    gradient: float | None
    weight: float | None
    saturated: float | None
    dead: float | None

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {"where": list(self.where)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Layer:
        """What :meth:`to_json` was made of."""
        return cls(**{**data, "where": Place(*data["where"])})


def layers(graph: Graph) -> tuple[Layer, ...]:
    """The layers that a gradient of the loss passes through, in forward order."""
    return tuple(_layer(graph, call) for call in heavy(graph))


def _layer(graph: Graph, call: Call) -> Layer:
    names = [graph.trace.sources[i] for i in sorted(_sources(graph, call))]
    sizes = [size for name in names if (size := graph.trace.grads.get(name)) is not None]
    steep, passed = _activation(graph, call)
    return Layer(
        name=call.path or (names[0] if names else call.name),
        where=call.place,
        cotangent=None if call.g_out is None else call.g_out.big,
        gradient=math.hypot(*(size.gradient for size in sizes)) if sizes else None,
        weight=math.hypot(*(size.value for size in sizes)) if sizes else None,
        saturated=steep,
        dead=None if passed is None else 1 - passed,
    )


def _sources(graph: Graph, call: Call) -> set[int]:
    """The sources that a call takes as they are, or behind views and casts."""
    found: set[int] = set()
    todo = [i for i in call.ins if i is not None]
    while todo:
        i = todo.pop()
        if i in graph.trace.sources:
            found.add(i)
        elif graph.made_by(i) in LINEAR:
            only = [j for j in graph.maker[i].ins if j is not None]
            todo += only if len(only) == 1 else []
    return found


def _activation(graph: Graph, call: Call) -> tuple[float | None, float | None]:
    """Flat and passing share of the first activation behind a layer, before the next layer."""
    todo, seen = list(call.outs), set[int]()
    while todo and len(seen) < _NEAR:
        i = todo.pop(0)
        for user, _ in graph.users[i]:
            if user.steep is not None or user.passed is not None:
                return user.steep, user.passed
            if user.name not in HEAVY and id(user) not in seen:
                seen.add(id(user))
                todo += user.outs
    return None, None
