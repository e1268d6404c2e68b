"""The primitives that carry what is no elementwise rule: a graft, and a formula of a whole call.

``surrogate_graft`` has the value of one operand and the derivative of another. ``surrogate_formula`` is a
call whose derivative a formula gives: its derivative is ``surrogate_formula_tangent``, linear in the
tangents, whose value is the formula's ``jvp`` and whose transpose is the formula.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

import surrogate
from surrogate_jax import _checked
from surrogate_jax._keys import Place
from surrogate_jax._scope import suspended

Array = Any

graft_p = Primitive("surrogate_graft")
formula_p = Primitive("surrogate_formula")
tangent_p = Primitive("surrogate_formula_tangent")
formula_p.multiple_results = tangent_p.multiple_results = True


def no_tangent(y: Any) -> ad.Zero:
    """The tangent of what has none. ``Zero.from_primal_value`` is gone in 0.10."""
    return ad.Zero(jax.typeof(y).to_tangent_aval())


# -- one value, another's derivative ----------------------------------------------------------------


def _graft_derivative(primals: Sequence[Any], tangents: Sequence[Any], *, closed: str) -> tuple[Any, Any]:
    if type(tangents[0]) is not ad.Zero:
        raise surrogate.FormulaError(closed)
    y = graft_p.bind(*primals, closed=closed)
    return y, tangents[1]


def _graft_batch(operands: Sequence[Any], axes: Sequence[int | None], **params: Any) -> tuple[Any, int]:
    size = next(x.shape[axis] for x, axis in zip(operands, axes, strict=True) if axis is not None)
    return graft_p.bind(*(_front(x, axis, size) for x, axis in zip(operands, axes, strict=True)), **params), 0


def _front(x: Any, axis: int | None, size: int) -> Any:
    return jnp.broadcast_to(x, (size, *jnp.shape(x))) if axis is None else jnp.moveaxis(x, axis, 0)


def _first(value: Any, carrier: Any, **_: Any) -> Any:
    return value


graft_p.def_impl(_first)
graft_p.def_abstract_eval(_first)
mlir.register_lowering(graft_p, mlir.lower_fun(_first, multiple_results=False))
ad.primitive_jvps[graft_p] = _graft_derivative
batching.primitive_batchers[graft_p] = _graft_batch
_checked.register(graft_p, _first)


# -- a call with a formula --------------------------------------------------------------------------


@dataclass(frozen=True)
class Call:
    """What a formula is asked about. Hashable: a part of jaxprs that JAX compares.

    Attributes:
        value: the call's results, from all operands.
        count: how many of the operands, the first ones, the formula knows.
        pull: ``pull(inputs, outputs, upstream)`` gives a cotangent, or None, for each of these.
        push: ``push(inputs, outputs, tangents)`` gives the tangents of the outputs.
        closed: what to say where a derivative by another operand is wanted.
        place: where it was captured; no part of what makes two calls equal.
    """

    value: Callable[..., Sequence[Array]]
    count: int
    pull: Callable[..., Any]
    push: Callable[..., Any]
    closed: str = ""
    place: Place | None = field(default=None, compare=False)


def _value(*operands: Any, call: Call) -> list[Any]:
    with suspended(*operands):
        return list(call.value(*operands))


def _aval(*operands: Any, call: Call) -> Any:
    return jax.make_jaxpr(functools.partial(_value, call=call))(*operands).out_avals


def _derivative(primals: Sequence[Any], tangents: Sequence[Any], *, call: Call) -> tuple[Any, Any]:
    if any(type(t) is not ad.Zero for t in tangents[call.count :]):
        raise surrogate.FormulaError(call.closed)
    outputs = formula_p.bind(*primals, call=call)
    inputs = primals[: call.count]
    moved = [_instantiated(t, x) for t, x in zip(tangents, inputs, strict=False)]
    found = tangent_p.bind(*inputs, *outputs, *moved, call=call)
    return outputs, [
        t if jnp.issubdtype(y.dtype, jnp.inexact) else no_tangent(y)
        for t, y in zip(found, outputs, strict=True)
    ]


def _instantiated(tangent: Any, x: Any) -> Any:
    if type(tangent) is ad.Zero or not jnp.issubdtype(jnp.result_type(x), jnp.inexact):
        return jnp.zeros(jnp.shape(x), jnp.result_type(x))
    return tangent


def _parts(operands: Sequence[Any], call: Call) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
    n = call.count
    return operands[:n], operands[n : len(operands) - n], operands[len(operands) - n :]


def _arrays(values: Sequence[Any]) -> list[Any]:
    """Python numbers too: formulas read shapes and dtypes."""
    return [x if isinstance(x, jax.Array) else jnp.asarray(x) for x in values]


def _tangent(*operands: Any, call: Call) -> list[Any]:
    inputs, outputs, tangents = _parts(operands, call)
    with suspended(*operands):
        found = call.push(_arrays(inputs), _arrays(outputs), _arrays(tangents))
    found = list(found) if isinstance(found, tuple | list) else [found]
    return [jnp.broadcast_to(t, y.shape).astype(y.dtype) for t, y in zip(found, outputs, strict=True)]


def _tangent_aval(*operands: Any, call: Call) -> Any:
    return list(_parts(operands, call)[1])


def _transpose(cotangents: Sequence[Any], *operands: Any, call: Call) -> list[Any]:
    inputs, outputs, tangents = _parts(operands, call)
    upstream = [_cotangent(g, y) for g, y in zip(cotangents, outputs, strict=True)]
    with suspended(*upstream):
        found = call.pull(_arrays(inputs), _arrays(outputs), _arrays(upstream))
    wanted = [
        None if not ad.is_undefined_primal(t) else ad.Zero(t.aval) if c is None else c
        for c, t in zip(found, tangents, strict=True)
    ]
    return [None] * (len(operands) - len(tangents)) + wanted


def _cotangent(g: Any, y: Any) -> Any:
    return jnp.zeros_like(y) if type(g) is ad.Zero else g


def _tangent_derivative(primals: Sequence[Any], dots: Sequence[Any], *, call: Call) -> tuple[Any, Any]:
    ys = tangent_p.bind(*primals, call=call)
    full = [_instantiated(dot, x) for dot, x in zip(dots, primals, strict=True)]
    _, moved = jax.jvp(functools.partial(_tangent, call=call), tuple(primals), tuple(full))
    return ys, moved


# -- batching ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Batched:
    """A step of a call, for each element of a batch; inputs without the batch get the sum of theirs."""

    step: Callable[..., Any]
    axes: tuple[Any, ...]
    sums: bool

    def __call__(self, inputs: Sequence[Any], outputs: Sequence[Any], moved: Sequence[Any]) -> Any:
        axes = (list(self.axes), [0] * len(outputs), [0] * len(moved))

        def one(inputs: Any, outputs: Any, moved: Any) -> Any:
            found = self.step(inputs, outputs, moved)
            found = found if isinstance(found, tuple | list) else (found,)
            return [
                jnp.zeros_like(x) if c is None else c
                for c, x in zip(found, inputs if self.sums else found, strict=True)
            ]

        found = jax.vmap(one, in_axes=axes)(list(inputs), list(outputs), list(moved))
        if not self.sums:
            return found
        return [
            c.sum(0) if axis is None else jnp.moveaxis(c, 0, axis)
            for c, axis in zip(found, self.axes, strict=True)
        ]


@dataclass(frozen=True)
class _BatchedValue:
    value: Callable[..., Sequence[Array]]
    axes: tuple[Any, ...]

    def __call__(self, *operands: Any) -> Any:
        return jax.vmap(lambda *one: list(self.value(*one)), in_axes=self.axes)(*operands)


def _batch(operands: Sequence[Any], axes: Sequence[int | None], *, call: Call) -> tuple[Any, Any]:
    found = formula_p.bind(*operands, call=_batched(call, tuple(axes)))
    return found, [0] * len(found)


def _batched(call: Call, axes: tuple[int | None, ...]) -> Call:
    known = axes[: call.count]
    pull, push = _Batched(call.pull, known, True), _Batched(call.push, known, False)
    return Call(_BatchedValue(call.value, axes), call.count, pull, _Moved(push), call.closed)


@dataclass(frozen=True)
class _Moved:
    """``push`` of a batch: tangents come with the axes of their inputs."""

    push: _Batched

    def __call__(self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]) -> Any:
        size = outputs[0].shape[0]
        full = [_front(t, axis, size) for t, axis in zip(tangents, self.push.axes, strict=True)]
        return self.push(inputs, outputs, full)


def _batch_tangent(operands: Sequence[Any], axes: Sequence[int | None], *, call: Call) -> tuple[Any, Any]:
    size = next(x.shape[axis] for x, axis in zip(operands, axes, strict=True) if axis is not None)
    full = [_front(x, axis, size) for x, axis in zip(operands, axes, strict=True)]
    found = tangent_p.bind(*full, call=_batched(call, (0,) * call.count))
    return found, [0] * len(found)


def _register(primitive: Any, value: Any, aval: Any, derivative: Any, batch: Any) -> None:
    primitive.def_impl(value)
    primitive.def_abstract_eval(aval)
    mlir.register_lowering(primitive, mlir.lower_fun(value, multiple_results=True))
    ad.primitive_jvps[primitive] = derivative
    batching.primitive_batchers[primitive] = batch


_register(formula_p, _value, _aval, _derivative, _batch)
_register(tangent_p, _tangent, _tangent_aval, _tangent_derivative, _batch_tangent)
ad.primitive_transposes[tangent_p] = _transpose
