"""Whole functions with another gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from autograd.extend import defjvp_argnums, defvjp_argnums

from surrogate import Backend, FunctionKit, FunctionPull, State
from surrogate_autograd import _hooks, _namespace
from surrogate_autograd._extend import primitive
from surrogate_autograd._operands import is_boxed
from surrogate_autograd._scope import is_suspended, suspended
from surrogate_autograd._sum import meta, spread

Array = Any


class Functions(FunctionKit):
    """The steps of a function's call that are autograd's."""

    xp = _namespace

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def state(self) -> State | None:
        return None if is_suspended() else self._backend.state()

    def recording(self, leaves: Sequence[Any]) -> bool:
        return _hooks.trace_stack.top >= 0

    def wants(self, arrays: Sequence[Array]) -> bool:
        return any(map(is_boxed, arrays))

    def flatten(self, tree: Any) -> tuple[list[Any], Callable[[Sequence[Any]], Any]]:
        leaves: list[Any] = []
        make = _flatten(tree, leaves)
        return leaves, lambda given: make(iter(given))

    def is_float(self, x: Any) -> bool:
        value = _hooks.getval(x)
        is_array = isinstance(value, np.ndarray | np.generic) and value.dtype.kind == "f"
        return is_array or isinstance(value, float)

    def detach(self, x: Array) -> Array:
        while is_boxed(x):  # one box for each level of differentiation
            x = _hooks.getval(x)
        return x

    def like(self, x: Array, value: Array) -> Array | None:
        to = meta(value)
        try:
            fits = np.broadcast_shapes(meta(x).shape, to.shape) == to.shape
        except ValueError:
            return None
        return spread(x, to) if fits else None

    def graft(self, value: Array, carrier: Array, closed: str = "") -> Array:
        return _graft(self.detach(value), carrier)

    def without_rules(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        with self._backend.exactly(None):
            return function(*args, **kwargs)

    def depends(self, values: Sequence[Array]) -> bool:
        return any(map(is_boxed, values))

    def with_formula(
        self, pull: FunctionPull, inputs: Sequence[Array], values: Sequence[Array], closed: str = ""
    ) -> list[Array]:
        plain = [self.detach(value) for value in values]
        return [_pulled(pull, at, tuple(plain), *inputs) for at in range(len(plain))]


def _flatten(tree: Any, leaves: list[Any]) -> Callable[[Any], Any]:
    """Put the leaves of lists, tuples and dicts into ``leaves``; what is returned makes the tree again."""
    if type(tree) in (list, tuple) or (isinstance(tree, tuple) and hasattr(tree, "_fields")):
        parts = [_flatten(part, leaves) for part in tree]
        named = hasattr(tree, "_fields")
        kind: Any = type(tree)
        return lambda given: kind(*[p(given) for p in parts]) if named else kind(p(given) for p in parts)
    if type(tree) is dict:
        items = [(key, _flatten(part, leaves)) for key, part in tree.items()]
        return lambda given: {key: part(given) for key, part in items}
    leaves.append(tree)
    return next


@primitive
def _graft(value: Array, carrier: Array) -> Array:
    """``value``; the derivative by ``carrier`` is 1."""
    return value


defvjp_argnums(_graft, lambda argnums, ans, args, kwargs: lambda g: tuple(g for _ in argnums))
defjvp_argnums(_graft, lambda argnums, tangents, ans, args, kwargs: tangents[-1])


@primitive
def _pulled(pull: FunctionPull, at: int, values: tuple[Array, ...], *inputs: Array) -> Array:
    """The value at this place; the derivative is what the formula says."""
    return values[at]


def _pulled_vjp(
    argnums: Sequence[int], ans: Array, args: tuple[Any, ...], kwargs: Any
) -> Callable[[Array], Any]:
    pull, at, values, inputs = args[0], args[1], args[2], args[3:]
    zeros = [np.zeros_like(value) for value in values]

    def back(g: Array) -> tuple[Array, ...]:
        upstream = [g if i == at else zero for i, zero in enumerate(zeros)]
        found = suspended(pull, inputs, values, upstream)
        both = [
            np.zeros_like(_hooks.getval(x)) if c is None else c for c, x in zip(found, inputs, strict=True)
        ]
        return tuple(both[argnum - 3] for argnum in argnums)

    return back


def _pulled_jvp(
    argnums: Sequence[int], tangents: Sequence[Array], ans: Array, args: tuple[Any, ...], kwargs: Any
) -> Array:
    pull, at, values, inputs = args[0], args[1], args[2], args[3:]
    given = dict(zip(argnums, tangents, strict=True))
    full = [given.get(i + 3, np.zeros_like(_hooks.getval(x))) for i, x in enumerate(inputs)]
    found = suspended(pull.push, inputs, values, full)
    return found[at] if isinstance(found, tuple | list) else found


defvjp_argnums(_pulled, _pulled_vjp)
defjvp_argnums(_pulled, _pulled_jvp)
