"""The namespace that formulas are evaluated over: JAX functions, with the library's own conventions.

Where JAX's derivative differs from the convention (``abs`` at 0) the function is given ours. The
functions are called with every override suspended, so they stay native.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.numpy import (
    arctan as atan,
    ceil,
    cos,
    cosh,
    e,
    exp,
    expm1,
    floor,
    inf,
    isfinite,
    isinf,
    isnan,
    log,
    log1p,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    nan,
    ones_like,
    pi,
    power as pow,
    rint as round,
    sign,
    sin,
    sinh,
    sqrt,
    square,
    tan,
    tanh,
    trunc,
    where,
    zeros_like,
)

from surrogate_jax._magnitude import magnitude
from surrogate_jax._parameter import parameter

__all__ = [
    "abs",
    "astype_like",
    "atan",
    "ceil",
    "cos",
    "cosh",
    "e",
    "exp",
    "expm1",
    "floor",
    "inf",
    "isfinite",
    "isinf",
    "isnan",
    "log",
    "log1p",
    "logical_and",
    "logical_not",
    "logical_or",
    "maximum",
    "minimum",
    "nan",
    "ones_like",
    "parameter",
    "pi",
    "pow",
    "round",
    "sign",
    "sin",
    "sinh",
    "softmax",
    "sqrt",
    "square",
    "sum",
    "tan",
    "tanh",
    "trunc",
    "where",
    "widen",
    "zeros_like",
]


def abs(x: Any) -> Any:
    """``|x|`` with derivative 0 at 0; JAX's own is 1 there."""
    return magnitude(jnp.asarray(x))


def widen(x: Any) -> Any:
    """``x`` in float32 if its dtype is narrower: formulas are evaluated there and rounded once."""
    narrow = isinstance(x, jax.Array) and x.dtype.itemsize < 4 and jnp.issubdtype(x.dtype, jnp.floating)
    return lax.convert_element_type(x, jnp.float32) if narrow else x


def astype_like(x: Any, like: Any) -> Any:
    """``x`` in the dtype of ``like``."""
    return lax.convert_element_type(x, like.dtype)


def sum(x: Any, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Any:
    """The sum over axes, all of them if None."""
    return jnp.sum(x, axis=axis, keepdims=keepdims)


def softmax(x: Any, axis: int | None = None) -> Any:
    """``exp(x)`` divided by its sum along an axis, over all elements if None; it does not overflow."""
    return jax.nn.softmax(x, axis=axis)
