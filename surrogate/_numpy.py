"""The NumPy namespace that formulas are evaluated over, and the list every namespace must offer.

A backend's ``xp`` has these names, with the array API's meaning. Where a derivative has a choice the
library makes it, the same in every backend: ``abs`` has derivative 0 at 0, ``maximum`` and
``minimum`` give half to each at a tie, ``where`` selects, ``sign`` and the roundings have
derivative 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import (
    abs,
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


def widen(x: Any) -> Any:
    """``x`` in float32 if its dtype is narrower: formulas are evaluated there and rounded once."""
    dtype = getattr(x, "dtype", None)
    return x.astype(np.float32) if dtype is not None and dtype.itemsize < 4 and dtype != np.bool_ else x


def astype_like(x: Any, like: Any) -> Any:
    """``x`` in the dtype of ``like``."""
    return np.asarray(x, dtype=like.dtype)


def sum(x: Any, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Any:
    """The sum over axes, all of them if None."""
    return np.sum(x, axis=axis, keepdims=keepdims)


def softmax(x: Any, axis: int | None = None) -> Any:
    """``exp(x)`` divided by its sum along an axis, over all elements if None; it does not overflow."""
    shifted = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return shifted / np.sum(shifted, axis=axis, keepdims=True)


def parameter(value: Any, like: Any) -> Any:
    """A parameter's value as an array in the dtype of ``like``, or float32 if that is narrower.

    ``value`` is a :class:`surrogate.ParameterValue`.
    """
    dtype = np.float32 if like.dtype.itemsize < 4 else like.dtype
    return value.mirror(("numpy", dtype), lambda array: array.astype(dtype))
