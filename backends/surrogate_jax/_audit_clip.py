"""Activations that are flat on a side: which operand is the value, and where it passes a gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from surrogate_jax._audit_program import Node

_FIXED = {"relu": (0.0, None), "relu6": (0.0, 6.0), "hardtanh": (-1.0, 1.0), "hardsigmoid": (0.0, 1.0)}

#: Of a clip, by the names of its arguments: the value, the lower and the upper bound.
_ARGUMENTS = (("arr", "x", "a"), ("min", "a_min"), ("max", "a_max"))


def order(node: Node) -> tuple[int | None, int | None, int | None] | None:
    """Positions of the value, the lower and the upper bound of a clip; None for other ops."""
    if node.name != "clip":
        return None
    if node.raw == "clamp":
        return 1, 0, 2
    inner = node.eqn.params.get("jaxpr")
    if inner is None:
        return None
    names = list(inner.jaxpr.debug_info.arg_names)
    value, low, high = (next((names.index(n) for n in known if n in names), None) for known in _ARGUMENTS)
    return value, low, high


def bounds(node: Node, ins: Sequence[Any]) -> tuple[Any, Any] | None:
    """The bounds, as numbers or operands; None for an op that has none, or obeys an override."""
    if node.eqn.primitive.name == "surrogate":
        return None
    positions = order(node)
    if positions is None:
        return _FIXED.get(node.name)
    return tuple(None if k is None else ins[k] for k in positions[1:])  # type: ignore[return-value]


def value_first(node: Node) -> list[int]:
    """The positions of the inputs, that of a clip's value before those of its bounds."""
    every = list(range(len(node.eqn.invars)))
    positions = order(node)
    if positions is None or positions[0] is None:
        return every
    return sorted(every, key=lambda k: k != positions[0])


def number(x: Any) -> float | None:
    """A literal as a number, if it is one."""
    return float(np.asarray(x)) if np.ndim(x) == 0 else None
