"""The namespace that formulas are evaluated over: TensorFlow's functions under the array API's names.

Derivatives follow the library's conventions: ``abs`` has derivative 0 at 0, ``maximum`` and ``minimum``
give half to each at a tie, ``where`` selects, ``sign`` and the roundings have derivative 0. All of it is
made of native ops, so that every mode of TensorFlow differentiates it again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from surrogate_tensorflow._parameter import parameter as parameter

_NARROW = frozenset({tf.float16, tf.bfloat16})


def _unary(op_type: str) -> Callable[[Any], Any]:
    """The function of an op of one input, without what TensorFlow's public wrappers add: half of the time."""
    op = getattr(tf.raw_ops, op_type)

    def function(x: Any) -> Any:
        return op(x=x)

    function.__doc__ = f"``tf.raw_ops.{op_type}``."
    return function


abs = _unary("Abs")
atan = _unary("Atan")
ceil = _unary("Ceil")
cos = _unary("Cos")
cosh = _unary("Cosh")
e = math.e
exp = _unary("Exp")
expm1 = _unary("Expm1")
floor = _unary("Floor")
inf = math.inf
isfinite = _unary("IsFinite")
isinf = _unary("IsInf")
isnan = _unary("IsNan")
log = _unary("Log")
log1p = _unary("Log1p")
logical_and = tf.math.logical_and
logical_or = tf.math.logical_or
nan = math.nan
ones_like = tf.ones_like
pi = math.pi
pow = tf.math.pow
round = _unary("Rint")
sign = _unary("Sign")
sin = _unary("Sin")
sinh = _unary("Sinh")
sqrt = _unary("Sqrt")
square = _unary("Square")
tan = _unary("Tan")
tanh = _unary("Tanh")
zeros_like = _unary("ZerosLike")


def logical_not(x: Any) -> Any:
    """Not ``x``. No node LogicalNot: Grappler turns ``not (a > b)`` into ``a <= b``, wrong at NaN."""
    return tf.where(x, False, True)


def maximum(a: Any, b: Any) -> Any:
    """The larger; at a tie each gets half of the derivative."""
    a, b = _alike(a, b)
    return where(a > b, a, where(a < b, b, 0.5 * a + 0.5 * b))


def minimum(a: Any, b: Any) -> Any:
    """The smaller; at a tie each gets half of the derivative."""
    a, b = _alike(a, b)
    return where(a < b, a, where(a > b, b, 0.5 * a + 0.5 * b))


def trunc(x: Any) -> Any:
    """Towards zero."""
    return where(x < 0, ceil(x), floor(x))


def where(condition: Any, a: Any, b: Any) -> Any:
    """``a`` where ``condition`` holds, else ``b``. Python numbers take the dtype of the other one."""
    if not (tf.is_tensor(a) and tf.is_tensor(b)):
        a, b = _alike(a, b)
    return tf.raw_ops.SelectV2(condition=condition, t=a, e=b)


def widen(x: Any) -> Any:
    """``x`` in float32 if it is float16 or bfloat16."""
    return tf.cast(x, tf.float32) if getattr(x, "dtype", None) in _NARROW else x


def astype_like(x: Any, like: Any) -> Any:
    """``x`` in the dtype of ``like``."""
    return x if getattr(x, "dtype", None) is like.dtype else tf.cast(x, like.dtype)


def _alike(a: Any, b: Any) -> tuple[Any, Any]:
    """Both as tensors of one dtype: the dtype of the one that has one, else float32."""
    dtype = getattr(a, "dtype", None) or getattr(b, "dtype", None) or tf.float32
    return tf.convert_to_tensor(a, dtype), tf.convert_to_tensor(b, dtype)


def sum(x: Any, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Any:
    """The sum over axes, all of them if None."""
    return tf.reduce_sum(x, axis=axis, keepdims=keepdims)


def softmax(x: Any, axis: int | None = None) -> Any:
    """``exp(x)`` divided by its sum along an axis, over all elements if None; it does not overflow."""
    if axis is None:
        return tf.reshape(tf.nn.softmax(tf.reshape(x, [-1])), tf.shape(x))
    return tf.nn.softmax(x, axis=axis)
