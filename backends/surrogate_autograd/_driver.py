"""How the conformance kit drives autograd: by several inputs at once, each with its own dtype.

autograd's own way to differentiate by several inputs puts them into a tuple, whose accumulation casts
every cotangent to its input's dtype; a kit that judges dtypes must see them as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

import autograd.numpy as anp
import numpy as np
from autograd.extend import JVPNode, VJPNode, vspace

from surrogate import Driver, Spelling
from surrogate_autograd import _hooks

Array = Any
Function = Callable[..., Array]


_ROUND = {"decimals": 1}

_SPELLINGS: dict[str, dict[str, Function | Spelling]] = {
    "round": {
        "round(x)": anp.round,
        "round(x, 1)": Spelling(lambda x: anp.round(x, 1), attributes=_ROUND),
        "round(a=x)": Spelling(lambda x: anp.round(a=x, decimals=1), attributes=_ROUND),
        "round(x, 0, None)": lambda x: anp.round(x, 0, None),
        "around(x)": lambda x: anp.around(x),
        "around(x, 1)": Spelling(lambda x: anp.around(x, 1), attributes=_ROUND),
        "rint(x)": lambda x: anp.rint(x),
        "x.round()": lambda x: x.round(),
        "x.round(1)": Spelling(lambda x: x.round(1), attributes=_ROUND),
        "x.round(decimals=-1)": Spelling(lambda x: x.round(decimals=-1), attributes={"decimals": -1}),
    },
    "abs": {"abs": anp.abs, "absolute": anp.absolute, "fabs": anp.fabs, "abs(x)": lambda x: abs(x)},
    "mod": {
        "mod": anp.mod,
        "remainder": anp.remainder,
        "x % y": lambda x, y: x % y,
        "divmod(x, y)[1]": lambda x, y: divmod(x, y)[1],
        "anp.divmod(x, y)[1]": lambda x, y: anp.divmod(x, y)[1],
        "2.0 % y": Spelling(lambda y: 2.0 % y, {"x": 2.0}),
        "numpy.float64(2) % y": Spelling(lambda y: np.float32(2.0) % y, {"x": 2.0}),
    },
    "floor_divide": {
        "floor_divide": anp.floor_divide,
        "x // y": lambda x, y: x // y,
        "divmod(x, y)[0]": lambda x, y: divmod(x, y)[0],
        "2.0 // y": Spelling(lambda y: 2.0 // y, {"x": 2.0}),
    },
    "clip": {
        "clip(x, lo, hi)": anp.clip,
        "clip(x, a_min, a_max)": lambda x, lo, hi: anp.clip(x, a_min=lo, a_max=hi),
        "clip(a=x)": lambda x, lo, hi: anp.clip(a=x, a_min=lo, a_max=hi),
        "x.clip(lo, hi)": lambda x, lo, hi: x.clip(lo, hi),
        "clip(x, lo, None)": Spelling(lambda x, lo: anp.clip(x, lo, None), {"hi": np.inf}),
        "clip(x, None, hi)": Spelling(lambda x, hi: anp.clip(x, None, hi), {"lo": -np.inf}),
        "x.clip(None, hi)": Spelling(lambda x, hi: x.clip(None, hi), {"lo": -np.inf}),
        "clip(x, -1.0, 2.0)": Spelling(lambda x: anp.clip(x, -1.0, 2.0), {"lo": -1.0, "hi": 2.0}),
    },
}


class AutogradDriver(Driver):
    """autograd's arrays are NumPy's; works on boxes, so that what it does can be differentiated again."""

    def asarray(self, x: Any) -> Array:
        """The array itself."""
        return np.asarray(x)

    def numpy(self, x: Array) -> Any:
        """The bare array, out of any boxes."""
        return np.asarray(_hooks.getval(x))

    def spellings(self, op: str) -> Mapping[str, Function | Spelling]:
        """Functions of ``autograd.numpy``, methods and operators."""
        return _SPELLINGS.get(op) or {op: getattr(anp, op)}

    def grad(self, f: Function, inputs: Sequence[Array], g: Array) -> tuple[Array, tuple[Array, ...]]:
        """Reverse mode."""
        return reverse(f, inputs, g)

    def jvp(self, f: Function, inputs: Sequence[Array], tangents: Sequence[Array]) -> tuple[Array, Array]:
        """Forward mode."""
        return forward(f, inputs, tangents)

    def residuals(self, f: Function, inputs: Sequence[Array]) -> int:
        """Bytes of the arrays that the backward pass holds."""
        return kept_bytes(f, inputs)


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
