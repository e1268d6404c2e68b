"""Every way JAX spells an op, and how one call of it is read.

A ``jnp`` function is a jit of JAX's own: it is recognised by the name and the file of its code, and
read from its jaxpr. A direct ``lax`` call is a primitive. ``jax.nn.relu`` is a custom_jvp.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

import jax.numpy as jnp
from jax import lax

import surrogate
from surrogate_jax._call import Native
from surrogate_jax._entered import floats
from surrogate_jax._hooks import PRIVATE
from surrogate_jax._operands import JitCall, as_array, is_leaf


@dataclass(frozen=True)
class Piece:
    """One result of a call, as an op of the catalogue.

    Attributes:
        op: the op's name.
        native: how its value is computed from the call's operands.
        numbers: the rule's inputs that are no operands, see :class:`Call`.
        decimals: of ``round``.
    """

    op: str
    native: Native
    numbers: tuple[float | None, ...]
    decimals: int = 0


@dataclass(frozen=True)
class Spelled:
    """A call that spells one op, or several in one function (``divmod``).

    Attributes:
        operands: in the order of the op's inputs, of the result's dtype or integers; their shapes broadcast.
        pieces: one for each result.
    """

    operands: Sequence[Any]
    pieces: Sequence[Piece]


#: jnp functions, by the name of their jit -> the op they are.
JNP: Mapping[str, str] = {
    "sign": "sign",
    "round": "round",
    "around": "round",
    "rint": "round",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "fix": "trunc",
    "remainder": "mod",
    "mod": "mod",
    "fmod": "fmod",
    "floor_divide": "floor_divide",
    "heaviside": "heaviside",
    "clip": "clip",
    "abs": "abs",
    "absolute": "abs",
    "fabs": "abs",
    "maximum": "maximum",
    "minimum": "minimum",
}

#: jnp functions with several results -> for each the op and the numbers among its inputs.
SEVERAL: Mapping[str, tuple[tuple[str, tuple[float | None, ...]], ...]] = {
    "divmod": (("floor_divide", (None, None)), ("mod", (None, None))),
    "modf": (("fmod", (None, 1.0)), ("trunc", (None,))),
}

#: Primitives of direct lax calls -> the op, the lax function, and its operands' keywords.
LAX: Mapping[str, tuple[str, str]] = {
    "sign_p": ("sign", "sign"),
    "round_p": ("round", "round"),
    "floor_p": ("floor", "floor"),
    "ceil_p": ("ceil", "ceil"),
    "rem_p": ("fmod", "rem"),
    "clamp_p": ("clip", "clamp"),
    "abs_p": ("abs", "abs"),
    "max_p": ("maximum", "max"),
    "min_p": ("minimum", "min"),
}

#: jax.nn functions that are a custom_jvp.
NN: Mapping[str, str] = {"relu": "relu", "relu6": "relu6"}

#: The ops of this page.
OPS = frozenset({*JNP.values(), *NN.values()})


def ops_of_function(file: str, name: str) -> tuple[str, ...]:
    """The ops that a jnp function spells, by its file and name; none if it is not JAX's."""
    if not file.startswith(PRIVATE + "numpy"):
        return ()
    return (JNP[name],) if name in JNP else tuple(op for op, _ in SEVERAL.get(name, ()))


def ops_of_code(code: CodeType) -> tuple[str, ...]:
    """The ops that the function of this code spells."""
    return ops_of_function(code.co_filename, code.co_name)


def read_jit(call: JitCall, params: Mapping[str, Any]) -> Spelled | None:
    """Read a call of a jnp function; None if it is not on real floating numbers."""
    name, jaxpr = params["name"], params["jaxpr"]
    dtype, given = jaxpr.out_avals[0].dtype, call.operands()
    if not given or not is_real(dtype) or not any(is_real(jnp.result_type(x)) for x in given.values()):
        return None
    operands = _in_dtype(floats([*given.values()]), dtype)
    if name == "clip":
        return _read_clip(dict(zip(given, operands, strict=True)))
    if name in SEVERAL:
        return Spelled(
            operands,
            [
                Piece(op, Native("jnp", name, output=output), numbers)
                for output, (op, numbers) in enumerate(SEVERAL[name])
            ],
        )
    decimals = call.decimals()
    if JNP[name] == "round" and not _rounds(jaxpr.jaxpr, decimals):
        return None
    static = (("decimals", decimals),) if decimals else ()
    native = Native("jnp", name, static=static)
    return Spelled(operands, [Piece(JNP[name], native, (None,) * len(operands), decimals)])


def read_lax(name: str, args: Sequence[Any], params: Mapping[str, Any]) -> Spelled | None:
    """Read a direct call of a lax function; None if it is not on real floating numbers."""
    op, function = LAX[name]
    if not all(is_leaf(x) and is_real(jnp.result_type(x)) for x in args):
        return None
    if op == "clip":
        lo, x, hi = args
        return Spelled([x, lo, hi], [Piece(op, Native("lax", function, ("x", "min", "max")), (None,) * 3)])
    static = (("rounding_method", params["rounding_method"]),) if op == "round" else ()
    return Spelled(args, [Piece(op, Native("lax", function, static=static), (None,) * len(args))])


def read_nn(name: str, args: Sequence[Any]) -> Spelled | None:
    """Read a call of ``jax.nn.relu`` or ``relu6``; None if it is not on a real floating array."""
    args = [as_array(x) for x in args]
    if not all(is_leaf(x) and is_real(jnp.result_type(x)) for x in args):
        return None
    return Spelled(args, [Piece(NN[name], Native("nn", name), (None,))])


def _read_clip(given: Mapping[str, Any]) -> Spelled:
    """A bound that is None is not given."""
    order = ("arr", "min", "max")
    present = [name for name in order if name in given]
    missing = (None, -math.inf, math.inf)
    numbers = tuple(None if name in given else number for name, number in zip(order, missing, strict=True))
    native = Native("jnp", "clip", names=tuple(present[1:]))
    return Spelled([given[name] for name in present], [Piece("clip", native, numbers)])


def _rounds(jaxpr: Any, decimals: int) -> bool:
    """Whether JAX rounds at all: not where the dtype has no such decimals.

    Raises:
        UnsupportedOpError: this version of JAX rounds there by a scale that is infinite or 0.
    """
    eqns = list(_with_inner(jaxpr))
    factors = [x.val for eqn in eqns if eqn.primitive.name == "mul" for x in eqn.invars if hasattr(x, "val")]
    if decimals and any(factor in (0, math.inf) for factor in factors if jnp.ndim(factor) == 0):
        raise surrogate.UnsupportedOpError(
            f"the backend 'jax' cannot override jnp.round(x, {decimals}): 10**{decimals} is infinite or 0 in "
            "this dtype."
        )
    return any(eqn.primitive.name == "round" for eqn in eqns)


def _with_inner(jaxpr: Any) -> Iterator[Any]:
    for eqn in jaxpr.eqns:
        yield eqn
        if eqn.primitive.name == "jit":
            yield from _with_inner(eqn.params["jaxpr"].jaxpr)


def _in_dtype(args: Iterable[Any], dtype: Any) -> list[Any]:
    """The operands with the floating ones in the result's dtype.

    One that has it already keeps its weak type. Integers stay as they are: the native function
    promotes them, and they have no derivative.
    """
    return [
        lax.convert_element_type(x, dtype) if is_real(have := _dtype(x)) and have != dtype else x
        for x in args
    ]


def _dtype(x: Any) -> Any:
    """The dtype itself: for ``result_type`` a weak float32 is a float64 once 64 bits are switched on."""
    return x.dtype if hasattr(x, "dtype") else jnp.result_type(x)


def is_real(dtype: Any) -> bool:
    return bool(jnp.issubdtype(dtype, jnp.floating))
