"""Ops that give booleans and integers: how JAX spells them, and the origin of what a call gives.

The op itself stays native, and its trace is unchanged; what it gives is remembered with its origin.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import CodeType
from typing import Any

import jax.numpy as jnp

import surrogate
from surrogate_jax import _twins
from surrogate_jax._hooks import PRIVATE
from surrogate_jax._operands import JitCall
from surrogate_jax._origins import Origin
from surrogate_jax._whose import Origin as Caller

#: jnp functions, by the name of their jit -> the op.
JNP: Mapping[str, str] = {
    "greater": "greater",
    "greater_equal": "greater_equal",
    "less": "less",
    "less_equal": "less_equal",
    "equal": "equal",
    "not_equal": "not_equal",
    "_argmax": "argmax",
    "_argmin": "argmin",
    "searchsorted": "searchsorted",
    "digitize": "searchsorted",
}

#: Primitives of direct lax calls -> the op and the lax function.
LAX: Mapping[str, tuple[str, str]] = {
    "gt_p": ("greater", "gt"),
    "ge_p": ("greater_equal", "ge"),
    "lt_p": ("less", "lt"),
    "le_p": ("less_equal", "le"),
    "eq_p": ("equal", "eq"),
    "ne_p": ("not_equal", "ne"),
    "argmax_p": ("argmax", "argmax"),
    "argmin_p": ("argmin", "argmin"),
    "convert_element_type_p": ("astype", "_convert_element_type"),
}

#: Functions that cast, as a user calls them.
_CASTS = frozenset({"astype", "convert_element_type", "asarray", "array", "__call__"})

#: All ops of this page.
OPS = frozenset({*JNP.values(), *(op for op, _ in LAX.values())})


def op_of_code(code: CodeType) -> str | None:
    """The op that a jnp function spells."""
    return JNP.get(code.co_name) if code.co_filename.startswith(PRIVATE + "numpy") else None


def is_call(op: str, found: Caller) -> bool:
    """Whether a jnp function was called by the user: ``argmax`` is a Python function around its jit."""
    if op in ("argmax", "argmin"):
        return found.depth == 1 and found.outermost is not None and found.outermost[1] == op
    return found.depth == 0


def is_lax_call(name: str, found: Caller) -> bool:
    """Whether a lax function was called by the user; for a cast, any function that casts."""
    op, function = LAX[name]
    direct = found.function == function and found.file.endswith("lax.py")
    if op == "astype":
        return direct and found.outermost is not None and found.outermost[1] in _CASTS
    return direct and found.depth == 1


def may_concern(name: str, args: tuple[Any, ...], params: Mapping[str, Any]) -> bool:
    """Whether a primitive turns floats into something else here."""
    if name == "convert_element_type_p" and not _is_whole(params["new_dtype"]):
        return False
    return any(_is_float(x) for x in args)


def origin_of_jit(op: str, gradient: surrogate.Gradient, call: JitCall) -> Origin | None:
    """The origin of what a call of a jnp function gives; None if it is not of floating arrays."""
    given, static = call.operands(), call.given()
    if not given:
        return None
    if op in ("argmax", "argmin"):
        x = given["a"]
        if not _is_float(x) or x.size == 0:
            return None
        return _twins.largest(_last(gradient), op, x, static.get("axis"), bool(static.get("keepdims")))
    if op == "searchsorted":
        return _counted(gradient, call.function.__name__, given, static)
    x, y = given.values()
    return _twins.compared(gradient.rule, op, x, y) if _is_float(x) or _is_float(y) else None


def origin_of_lax(name: str, gradient: surrogate.Gradient, args: Any, params: Mapping[str, Any]) -> Origin:
    """The origin of what a direct call of a lax function gives."""
    op, _ = LAX[name]
    if op == "astype":
        to = params["new_dtype"]
        rule = gradient.at(to="bool" if jnp.issubdtype(to, jnp.bool_) else "integer")
        return _twins.cast(rule, args[0], jnp.dtype(to))
    if op in ("argmax", "argmin"):
        (axis,) = params["axes"]
        return _twins.largest(_last(gradient), op, args[0], axis, False)
    return _twins.compared(gradient.rule, op, *args)


def _counted(
    gradient: surrogate.Gradient, function: str, given: Mapping[str, Any], static: Mapping[str, Any]
) -> Origin | None:
    if function == "digitize":
        x, edges, falls = given["x"], given["bins"], True
        side = "left" if static.get("right", False) else "right"
    else:
        x, edges, falls, side = given["v"], given["a"], False, static.get("side", "left")
        if "sorter" in given:
            edges = edges[given["sorter"]]
    if not (_is_float(x) or _is_float(edges)) or jnp.ndim(edges) != 1:
        return None
    return _twins.counted(gradient.at(side=side), x, edges, side, falls)


def _last(gradient: surrogate.Gradient) -> surrogate.Rule:
    return gradient.at(axis=-1)


def _is_float(x: Any) -> bool:
    return bool(jnp.issubdtype(jnp.result_type(x), jnp.floating))


def _is_whole(dtype: Any) -> bool:
    return bool(jnp.issubdtype(dtype, jnp.integer) or jnp.issubdtype(dtype, jnp.bool_))
