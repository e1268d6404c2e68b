"""Whole functions with another gradient, decided when they are traced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from surrogate import Backend, FunctionKit, FunctionPull, State
from surrogate_jax import _namespace
from surrogate_jax._formula import Call, formula_p, graft_p
from surrogate_jax._hooks import is_tracing
from surrogate_jax._scope import agree, captured, is_suspended, suspended

Array = Any


class Functions(FunctionKit):
    """The steps of a function's call that are JAX's."""

    xp = _namespace
    late = True  # what a result depends on is known when it is differentiated

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def state(self) -> State | None:
        return None if is_suspended() else self._backend.state()

    def captured(self, state: State, path: str, frame: FrameType | None) -> None:
        captured(state, path, frame)

    def recording(self, leaves: Sequence[Any]) -> bool:
        if not any(isinstance(leaf, jax.core.Tracer) for leaf in leaves) and not is_tracing():
            return False
        if not is_suspended():
            agree(self._backend.state())
        return True

    def wants(self, arrays: Sequence[Array]) -> bool:
        return any(isinstance(x, jax.core.Tracer) for x in arrays)

    def flatten(self, tree: Any) -> tuple[list[Any], Callable[[Sequence[Any]], Any]]:
        leaves, shape = jax.tree_util.tree_flatten(tree)
        return leaves, lambda given: jax.tree_util.tree_unflatten(shape, given)

    def is_float(self, x: Any) -> bool:
        return isinstance(x, jax.Array | np.ndarray | np.generic) and bool(
            jnp.issubdtype(x.dtype, jnp.floating)
        )

    def detach(self, x: Array) -> Array:
        return lax.stop_gradient(x) if isinstance(x, jax.core.Tracer) else x

    def like(self, x: Array, value: Array) -> Array | None:
        x = jnp.asarray(x).astype(value.dtype)
        if x.shape == value.shape:
            return x
        ends = zip(reversed(x.shape), reversed(value.shape), strict=False)
        fits = x.ndim <= value.ndim and all(a in (1, b) for a, b in ends)
        return jnp.broadcast_to(x, value.shape) if fits else None

    def graft(self, value: Array, carrier: Array, closed: str = "") -> Array:
        return graft_p.bind(value, carrier, closed=closed)

    def constant(self, value: Array, closed: str = "") -> Array:
        return graft_p.bind(value, self.detach(value), closed=closed)

    def without_rules(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        with suspended():
            return function(*args, **kwargs)

    def depends(self, values: Sequence[Array]) -> bool:
        return any(isinstance(value, jax.core.Tracer) for value in values)

    def with_formula(
        self, pull: FunctionPull, inputs: Sequence[Array], values: Sequence[Array], closed: str = ""
    ) -> list[Array]:
        call = Call(_Rest(len(inputs)), len(inputs), pull, pull.push, closed)
        return list(formula_p.bind(*map(jnp.asarray, inputs), *map(jnp.asarray, values), call=call))


@dataclass(frozen=True)
class _Rest:
    """The operands after the first ones: the results are there already."""

    count: int

    def __call__(self, *operands: Any) -> Sequence[Any]:
        return operands[self.count :]
