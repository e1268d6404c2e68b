"""The namespace that formulas are evaluated over: MLX's own functions, taken before any is replaced."""

import math

import mlx.core as mx
from mlx.core import (
    abs,
    arctan as atan,
    ceil,
    cos,
    cosh,
    exp,
    expm1,
    floor,
    isfinite,
    isinf,
    isnan,
    log,
    log1p,
    logical_and,
    logical_not,
    logical_or,
    ones_like,
    power as pow,
    round,
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

e, pi, inf, nan = math.e, math.pi, math.inf, math.nan
_maximum, _minimum, _sign = mx.maximum, mx.minimum, mx.sign

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


class Cell(dict):
    """A parameter's value where ``mx.compile`` takes it for one of the inputs of what it compiles."""

    def set(self, array):
        """A variable's new value."""
        self["value"] = mx.array(array)


def cell(value):
    """The one cell of a parameter's value."""
    return value.mirror("mlx", lambda array: Cell(value=mx.array(array)))


def parameter(value, like):
    """An array or a variable as MLX's array, in the dtype of ``like`` or wider."""
    return cell(value)["value"].astype(mx.float32 if like.dtype in (mx.float16, mx.bfloat16) else like.dtype)


def sign(x):
    """-1, 0 or 1; NaN for NaN, where MLX's own gives 0."""
    return where(isnan(x), x, _sign(x))


def maximum(x, y):
    """The larger; at a tie the derivative is half for each, where MLX's own gives all to the second."""
    return where(x == y, 0.5 * x + 0.5 * y, _maximum(x, y))


def minimum(x, y):
    """The smaller; at a tie the derivative is half for each."""
    return where(x == y, 0.5 * x + 0.5 * y, _minimum(x, y))


def widen(x):
    """float16 and bfloat16 as float32; anything else unchanged."""
    return x.astype(mx.float32) if getattr(x, "dtype", None) in (mx.float16, mx.bfloat16) else x


def astype_like(x, like):
    """``x`` in the dtype of ``like``."""
    return x.astype(like.dtype) if isinstance(x, mx.array) else mx.array(x, dtype=like.dtype)


def sum(x, axis=None, keepdims=False):
    """The sum over axes, all of them if None."""
    return mx.sum(x, axis=axis, keepdims=keepdims)


def softmax(x, axis=None):
    """``exp(x)`` divided by its sum along an axis, over all elements if None; it does not overflow."""
    found = mx.softmax(x.reshape(-1) if axis is None else x, axis=-1 if axis is None else axis)
    return found.reshape(x.shape)
