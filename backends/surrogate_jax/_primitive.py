"""The two primitives a captured op becomes.

``surrogate`` computes the native value. Its derivative is ``surrogate_tangent``, linear in the
tangents, which carries exactly what the rule keeps: its value is the rule's ``jvp``, its transpose the
rule's ``vjp``. Both rules are ordinary JAX code, so derivatives of any order follow.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import ClosedJaxpr, Primitive, jaxpr_as_fun
from jax.interpreters import ad, batching, mlir
from jax.interpreters.partial_eval import dce_jaxpr

from surrogate_jax import _checked, _namespace as xp
from surrogate_jax._call import Call
from surrogate_jax._control_flow import ReadBefore
from surrogate_jax._placement import common_sharding, spread, to_shape
from surrogate_jax._scope import suspended

surrogate_p = Primitive("surrogate")
tangent_p = Primitive("surrogate_tangent")


# -- the captured op -------------------------------------------------------------------------------


def _value(*operands: Any, call: Call) -> Any:
    return call.native(*operands)


def _lowered(*operands: Any, call: Call) -> Any:
    """The native value as ``jit`` would lower it: what JAX computes in vain is left out."""
    if call.native.function not in _COMPUTE_IN_VAIN:
        return call.native(*operands)
    traced = jax.make_jaxpr(call.native)(*operands)
    used, _ = dce_jaxpr(traced.jaxpr, [True], True)
    return jaxpr_as_fun(ClosedJaxpr(used, traced.consts))(*operands)[0]


#: jnp functions of which one result, or a part, is not used.
_COMPUTE_IN_VAIN = ("floor_divide", "divmod", "modf")


def _aval(*operands: Any, call: Call) -> Any:
    return _native_aval(call.native, operands)


@functools.lru_cache(maxsize=4096)
def _native_aval(native: Any, avals: tuple[Any, ...]) -> Any:
    with suspended(*avals):
        return jax.make_jaxpr(native)(*avals).out_avals[0]


def _derivative(primals: Sequence[Any], tangents: Sequence[Any], *, call: Call) -> tuple[Any, Any]:
    # the captured op again, not the native one: else a second derivative would lose the rule
    y = surrogate_p.bind(*primals, call=call)
    moving = [not _is_zero(t) for t in tangents]
    if not any(moving):
        return y, _zeros_like(y)
    needs = call.needs(moving)
    with suspended(y):
        saved = call.rule.save(xp, call.inputs(_inputs(primals, y.dtype, call)), needs)
        moved = [spread(t, y) for t, moves in zip(tangents, moving, strict=True) if moves]
    arrays = [x for x in saved if type(x) is not float]
    numbers = tuple(x if type(x) is float else None for x in saved)  # in the place of a bound, say
    return y, tangent_p.bind(*arrays, *moved, rule=call.rule, needs=needs, numbers=numbers)


def _zeros_like(y: Any) -> Any:
    with suspended(y):
        return jnp.zeros_like(y)


def _inputs(primals: Sequence[Any], dtype: Any, call: Call) -> list[Any]:
    """In one dtype; the values of variables that were read before keep all their digits."""
    count = len(primals) - call.learned if isinstance(call.rule, ReadBefore) else len(primals)
    return [*(_in_dtype(x, dtype) for x in primals[:count]), *primals[count:]]


def _in_dtype(x: Any, dtype: Any) -> Any:
    """A rule sees inputs of one dtype; the native op promotes integers itself."""
    return x if jnp.result_type(x) == dtype else lax.convert_element_type(x, dtype)


# -- its tangent ---------------------------------------------------------------------------------


def _split(operands: Sequence[Any], numbers: Sequence[float | None]) -> tuple[Sequence[Any], Sequence[Any]]:
    kept = numbers.count(None)
    return operands[:kept], operands[kept:]


def _saved(arrays: Sequence[Any], numbers: Sequence[float | None]) -> tuple[Any, ...]:
    rest = iter(arrays)
    return tuple(next(rest) if number is None else number for number in numbers)


def _tangent(*operands: Any, rule: Any, needs: Any, numbers: Any) -> Any:
    arrays, tangents = _split(operands, numbers)
    given = iter(tangents)
    with suspended(*operands):
        return rule.jvp(xp, _saved(arrays, numbers), [next(given) if want else None for want in needs], needs)


def _tangent_aval(*operands: Any, rule: Any, needs: Any, numbers: Any) -> Any:
    return _split(operands, numbers)[1][0]


def _tangent_transpose(cotangent: Any, *operands: Any, rule: Any, needs: Any, numbers: Any) -> list[Any]:
    arrays, tangents = _split(operands, numbers)
    nothing: list[Any] = [None] * len(arrays)
    if type(cotangent) is ad.Zero:
        return nothing + [ad.Zero(t.aval) if ad.is_undefined_primal(t) else None for t in tangents]
    with suspended(cotangent):
        found = rule.vjp(xp, _saved(arrays, numbers), cotangent, needs)
    wanted = [c for c, want in zip(found, needs, strict=True) if want]
    return nothing + [c if ad.is_undefined_primal(t) else None for c, t in zip(wanted, tangents, strict=True)]


def _tangent_derivative(
    primals: Sequence[Any], dots: Sequence[Any], *, numbers: Any, **params: Any
) -> tuple[Any, Any]:
    """By the tangents it is linear; by what was kept it has the derivative of the formula."""
    bind = functools.partial(tangent_p.bind, numbers=numbers, **params)
    arrays, tangents = _split(primals, numbers)
    array_dots, tangent_dots = _split(dots, numbers)
    terms = []
    if not all(map(_is_zero, tangent_dots)):
        terms.append(bind(*arrays, *map(ad.instantiate_zeros, tangent_dots)))
    if not all(map(_is_zero, array_dots)):
        evaluate = functools.partial(_tangent, numbers=numbers, **params)
        terms.append(_push(lambda *xs: evaluate(*xs, *tangents), arrays, array_dots))
    y = bind(*primals)
    return y, functools.reduce(lax.add, terms) if terms else _zeros_like(y)


def _push(f: Any, xs: Sequence[Any], dots: Sequence[Any]) -> Any:
    """The tangent of ``f(*xs)``, where ``dots`` may be symbolic zeros."""
    moving = [i for i, dot in enumerate(dots) if not _is_zero(dot)]

    def of_moving(*moved: Any) -> Any:
        full = list(xs)
        for i, x in zip(moving, moved, strict=True):
            full[i] = x
        return f(*full)

    with suspended(*xs):
        return jax.jvp(of_moving, [xs[i] for i in moving], [dots[i] for i in moving])[1]


def _is_zero(tangent: Any) -> bool:
    return type(tangent) is ad.Zero or jnp.result_type(tangent) == jax.dtypes.float0


# -- batching ---------------------------------------------------------------------------------------


def _align(x: Any, axis: int | None, rank: int) -> Any:
    """The batch axis in front of ``rank`` others, so that shapes broadcast as they did without it."""
    if axis is None:
        return x
    front = jnp.moveaxis(x, axis, 0)
    missing = rank + 1 - front.ndim
    return jnp.reshape(front, (front.shape[0], *(1,) * missing, *front.shape[1:])) if missing else front


def _rank(operands: Sequence[Any], axes: Sequence[int | None]) -> int:
    return max(jnp.ndim(x) - (axis is not None) for x, axis in zip(operands, axes, strict=True))


def _batch(operands: Sequence[Any], axes: Sequence[int | None], *, call: Call) -> tuple[Any, int]:
    rank = _rank(operands, axes)
    with suspended(*operands):
        aligned = [_align(x, axis, rank) for x, axis in zip(operands, axes, strict=True)]
        own = axes[: len(axes) - call.learned]
        if all(axis is None for axis in own):  # of parameters alone; the value has the batch axis too
            size = next(x.shape[0] for x, axis in zip(aligned, axes, strict=True) if axis is not None)
            shape = size, *jnp.broadcast_shapes(*(jnp.shape(x) for x in aligned[: len(own)]))
            aligned[0] = to_shape(aligned[0], shape, common_sharding(aligned, shape))
    return surrogate_p.bind(*aligned, call=call), 0


def _batch_tangent(
    operands: Sequence[Any], axes: Sequence[int | None], *, numbers: Any, **params: Any
) -> tuple[Any, int]:
    rank = _rank(operands, axes)
    size = next(x.shape[axis] for x, axis in zip(operands, axes, strict=True) if axis is not None)
    arrays, tangents = _split(operands, numbers)
    array_axes, tangent_axes = _split(axes, numbers)
    with suspended(*operands):
        aligned = [_align(x, axis, rank) for x, axis in zip(arrays, array_axes, strict=True)]
        moved = [_align(t, axis, rank) for t, axis in zip(tangents, tangent_axes, strict=True)]
        shape = (size, *(jnp.shape(moved[0])[1:] if tangent_axes[0] is not None else jnp.shape(moved[0])))
        sharding = common_sharding([*aligned, *moved], shape)
        full = [to_shape(t, shape, sharding) for t in moved]
    return tangent_p.bind(*aligned, *full, numbers=numbers, **params), 0


# -- registration -----------------------------------------------------------------------------------


def _register(primitive: Any, value: Any, lowered: Any, aval: Any, derivative: Any, batch: Any) -> None:
    primitive.def_impl(value)
    primitive.def_abstract_eval(aval)
    mlir.register_lowering(primitive, mlir.lower_fun(lowered, multiple_results=False))
    ad.primitive_jvps[primitive] = derivative
    batching.primitive_batchers[primitive] = batch
    _checked.register(primitive, value)


_register(surrogate_p, _value, _lowered, _aval, _derivative, _batch)
_register(tangent_p, _tangent, _tangent, _tangent_aval, _tangent_derivative, _batch_tangent)
ad.primitive_transposes[tangent_p] = _tangent_transpose
