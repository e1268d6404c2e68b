"""Reverse and forward mode by several inputs at once, each with its own dtype.

autograd's own way to differentiate by several inputs puts them into a tuple, whose accumulation casts
every cotangent to its input's dtype; a kit that judges dtypes must see them as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np
from autograd.extend import JVPNode, VJPNode, vspace

from surrogate_autograd import _hooks

Array = Any
Function = Callable[..., Array]


def trace(f: Function, inputs: Sequence[Array], roots: Sequence[Any]) -> tuple[Array, Any]:
    """``f(*inputs)`` and the node of its output, None if it does not depend on the inputs."""
    with _hooks.trace_stack.new_trace() as level:
        boxes = [_hooks.new_box(x, level, root) for x, root in zip(inputs, roots, strict=True)]
        out = f(*boxes)
        if _hooks.isbox(out):
            value, its_level, node = _hooks.opened(out)
            if its_level == level:
                return value, node
        return out, None


def reverse(f: Function, inputs: Sequence[Array], g: Array) -> tuple[Array, tuple[Array, ...]]:
    """``f(*inputs)`` and the inputs' cotangents."""
    roots = [VJPNode.new_root() for _ in inputs]
    value, end = trace(f, inputs, roots)
    found: dict[Any, Any] = {}
    if end is not None:
        found[end] = g, False
        for node in _hooks.toposort(end):
            if node in roots:
                continue
            cotangents = node.vjp(found.pop(node)[0])
            for parent, cotangent in zip(node.parents, cotangents, strict=True):
                found[parent] = _hooks.add_outgrads(found.get(parent), cotangent)
    return value, tuple(
        found[root][0] if root in found else vspace(x).zeros() for root, x in zip(roots, inputs, strict=True)
    )


def forward(f: Function, inputs: Sequence[Array], tangents: Sequence[Array]) -> tuple[Array, Array]:
    """``f(*inputs)`` and its tangent."""
    value, end = trace(f, inputs, [JVPNode.new_root(t) for t in tangents])
    return value, vspace(value).zeros() if end is None else end.g


def kept_bytes(f: Function, inputs: Sequence[Array]) -> int:
    """Bytes of the arrays that the backward pass of ``f(*inputs)`` holds, each buffer once."""
    _, end = trace(f, inputs, [VJPNode.new_root() for _ in inputs])
    nodes = [] if end is None else [node.vjp for node in _hooks.toposort(end)]
    buffers: dict[int, int] = {}
    seen: set[int] = set()
    queue: list[Any] = nodes
    while queue:
        item = queue.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, np.ndarray):
            owner = item if item.base is None else item.base
            buffers[id(owner)] = owner.nbytes
        else:
            queue.extend(_holds(item))
    return sum(buffers.values())


def _holds(item: Any) -> list[Any]:
    """What a closure, a partial function or a container holds."""
    if isinstance(item, FunctionType):
        cells = [cell.cell_contents for cell in item.__closure__ or ()]
        return [*cells, *(item.__defaults__ or ())]
    if hasattr(item, "func") and hasattr(item, "args"):
        return [item.func, *item.args, *item.keywords.values()]
    if isinstance(item, (tuple, list)):
        return list(item)
    if isinstance(item, dict):
        return list(item.values())
    return [_hooks.getval(item)] if _hooks.isbox(item) else []
