"""A primitive whose value is 0 and whose derivative by one operand is given: it steers where a gradient goes.

``steer(by, ds, t)`` stands for the part of ``by(*ds, t)``, linear in ``t``, that is due to ``t``. It is
added to a native value whose own derivative covers the rest.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from surrogate_jax._formula import no_tangent
from surrogate_jax._scope import suspended

Array = Any
steer_p = Primitive("surrogate_steer")


def steer(by: Callable[..., Array], ds: Sequence[Array], t: Array) -> Array:
    """0 in the shape of ``by(*ds, t)``; its tangent is ``by(*ds, tangent of t)``, whatever those of ``ds``.

    ``by`` is hashable and holds no arrays: it is part of jaxprs.
    """
    return steer_p.bind(*ds, t, by=by)


def _value(*operands: Any, by: Any) -> Any:
    made = jax.eval_shape(functools.partial(_applied, by), *operands)
    return jnp.zeros(made.shape, made.dtype)


def _applied(by: Any, *operands: Any) -> Any:
    with suspended(*operands):
        return by(*operands)


def _aval(*operands: Any, by: Any) -> Any:
    return jax.make_jaxpr(functools.partial(_applied, by))(*operands).out_avals[0]


def _derivative(primals: Sequence[Any], tangents: Sequence[Any], *, by: Any) -> tuple[Any, Any]:
    y = steer_p.bind(*primals, by=by)
    *ds, _ = primals
    if type(tangents[-1]) is ad.Zero:
        return y, no_tangent(y)
    return y, _applied(by, *ds, tangents[-1])


def _batch(operands: Sequence[Any], axes: Sequence[int | None], *, by: Any) -> tuple[Any, int]:
    return steer_p.bind(*operands, by=_Batched(by, tuple(axes))), 0


class _Batched:
    """``by`` for each element of a batch. Equal ones are equal: it is part of jaxprs."""

    __slots__ = ("__weakref__", "axes", "by")

    def __init__(self, by: Any, axes: tuple[int | None, ...]) -> None:
        self.by, self.axes = by, axes

    def __call__(self, *operands: Any) -> Any:
        return jax.vmap(self.by, in_axes=self.axes)(*operands)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Batched) and (self.by, self.axes) == (other.by, other.axes)

    def __hash__(self) -> int:
        return hash((self.by, self.axes))


steer_p.def_impl(_value)
steer_p.def_abstract_eval(_aval)
mlir.register_lowering(steer_p, mlir.lower_fun(_value, multiple_results=False))
ad.primitive_jvps[steer_p] = _derivative
batching.primitive_batchers[steer_p] = _batch
