"""The float twin of what an op gives: the cast of its value, with the rule's gradient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import surrogate
from surrogate_jax import _formula, _namespace as xp
from surrogate_jax._call import Call
from surrogate_jax._learned import bind
from surrogate_jax._origins import Index, Lazy, Origin
from surrogate_jax._placement import vary_together
from surrogate_jax._primitive import surrogate_p
from surrogate_jax._scope import suspended

Array = Any


@dataclass(frozen=True)
class _Cast:
    """A function of jnp, its value cast to a float."""

    function: str
    dtype: Any
    static: tuple[tuple[str, Any], ...] = ()

    def __call__(self, *operands: Any) -> Any:
        with suspended(*operands):
            return getattr(jnp, self.function)(*operands, **dict(self.static)).astype(self.dtype)

    def __repr__(self) -> str:
        return f"jnp.{self.function} as a float"


@dataclass(frozen=True)
class _Truncated:
    """A float cast to an integer or a boolean and back."""

    to: Any

    def __call__(self, x: Any) -> Any:
        with suspended(x):
            return x.astype(self.to).astype(x.dtype)

    @property
    def function(self) -> str:
        return "astype"


@dataclass(frozen=True)
class _OneHot:
    """The one-hot vector of the index of the largest, or smallest, along the last axis."""

    function: str

    def __call__(self, x: Any) -> Any:
        with suspended(x):
            index = getattr(jnp, self.function)(x, axis=-1)
            return (index[..., None] == jnp.arange(x.shape[-1])).astype(x.dtype)


def compared(rule: surrogate.Rule, op: str, x: Array, y: Array) -> Origin:
    """The origin of ``x > y`` and its like."""
    dtype = jnp.result_type(x, y)

    def make() -> Array:
        operands = [_as(x, dtype), _as(y, dtype)]
        return bind(Call(rule, _Cast(op, dtype), (None, None)), vary_together(operands))

    return Origin(Lazy(make, [x, y]))


def cast(rule: surrogate.Rule, x: Array, to: Any) -> Origin:
    """The origin of ``x.astype(to)``, of an integer or a boolean dtype."""
    return Origin(Lazy(lambda: bind(Call(rule, _Truncated(to), (None,)), [x]), [x]))


def largest(rule: surrogate.Rule, op: str, x: Array, axis: int | None, keepdims: bool) -> Origin:
    """The origin of ``argmax`` and ``argmin``. ``rule`` is for the last axis."""
    shape = jnp.shape(x)

    def make() -> Array:
        with suspended(x):
            rows = jnp.reshape(x, (-1,)) if axis is None else jnp.moveaxis(x, axis, -1)
        found = surrogate_p.bind(rows, call=Call(rule, _OneHot(op), (None,)))
        if not keepdims:
            return found
        kept = (1,) * len(shape) if axis is None else _with_one(shape, axis)
        with suspended(found):
            return jnp.reshape(found, (*kept, -1))

    size = int(np.prod(shape)) if axis is None else shape[axis]
    return of_index(Index(Lazy(make, [x]), np.arange(size)))


def _with_one(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    kept = list(shape)
    kept[axis] = 1
    return tuple(kept)


def of_index(index: Index) -> Origin:
    """The origin of a value that is a function of a class."""

    def make() -> Array:
        one_hot = index.one_hot()
        with suspended(one_hot):
            return jnp.matmul(one_hot, jnp.asarray(index.values).astype(one_hot.dtype))

    return Origin(Lazy(make, [index.one_hot, index.values]), index)


@dataclass(frozen=True)
class _Counted:
    """How many boundaries lie below, and what a rule says of it."""

    rule: surrogate.Rule
    side: str
    needs: tuple[bool, bool]

    def value(self, x: Any, boundaries: Any) -> list[Any]:
        return [jnp.searchsorted(boundaries, x, side=self.side).astype(x.dtype)]

    def pull(self, inputs: Sequence[Any], outputs: Sequence[Any], g: Sequence[Any]) -> Any:
        saved = self.rule.save(xp, inputs, self.needs)
        return self.rule.vjp(xp, saved, g[0], self.needs)

    def push(self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]) -> Any:
        return self.rule.jvp(xp, self.rule.save(xp, inputs, self.needs), tangents, self.needs)


def counted(rule: surrogate.Rule, x: Array, boundaries: Array, side: str, falls: bool = False) -> Origin:
    """The origin of ``searchsorted``; with ``falls`` of ``digitize`` where the boundaries may fall."""
    dtype = jnp.result_type(x, boundaries)

    def make() -> Array:
        operands = [_as(x, dtype), _as(boundaries, dtype)]
        how = _Counted(rule, side, (True, True))
        call = _formula.Call(_CountedValue(how), 2, how.pull, how.push)
        (found,) = _formula.formula_p.bind(*operands, call=call)
        if not falls:
            return found
        with suspended(found):
            edges = lax.stop_gradient(operands[1])
            return jnp.where(edges[-1] >= edges[0], found, edges.size - found)

    return Origin(Lazy(make, [x, boundaries]))


@dataclass(frozen=True)
class _CountedValue:
    how: _Counted

    def __call__(self, *operands: Any) -> Any:
        return self.how.value(*operands)


def _as(x: Any, dtype: Any) -> Array:
    if isinstance(x, jax.Array) and x.dtype == dtype:
        return x
    with suspended(x):
        return lax.convert_element_type(x, dtype)
