"""The namespace that formulas are evaluated over: TensorFlow's functions under the array API's names.

Derivatives follow the library's conventions: ``abs`` has derivative 0 at 0, ``maximum`` and ``minimum``
give half to each at a tie, ``where`` selects, ``sign`` and the roundings have derivative 0. All of it is
made of native ops, so that every mode of TensorFlow differentiates it again.
"""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

abs = tf.math.abs
atan = tf.math.atan
ceil = tf.math.ceil
cos = tf.math.cos
cosh = tf.math.cosh
e = math.e
exp = tf.math.exp
expm1 = tf.math.expm1
floor = tf.math.floor
inf = math.inf
isfinite = tf.math.is_finite
isinf = tf.math.is_inf
isnan = tf.math.is_nan
log = tf.math.log
log1p = tf.math.log1p
logical_and = tf.math.logical_and
logical_or = tf.math.logical_or
nan = math.nan
ones_like = tf.ones_like
pi = math.pi
pow = tf.math.pow
round = tf.math.rint
sign = tf.math.sign
sin = tf.math.sin
sinh = tf.math.sinh
sqrt = tf.math.sqrt
square = tf.math.square
tan = tf.math.tan
tanh = tf.math.tanh
zeros_like = tf.zeros_like


def logical_not(x: Any) -> Any:
    """Not ``x``. No node LogicalNot: Grappler turns ``not (a > b)`` into ``a <= b``, wrong at NaN."""
    return tf.where(x, False, True)


def maximum(a: Any, b: Any) -> Any:
    """The larger; at a tie each gets half of the derivative."""
    a, b = _alike(a, b)
    return tf.where(a > b, a, tf.where(a < b, b, 0.5 * a + 0.5 * b))


def minimum(a: Any, b: Any) -> Any:
    """The smaller; at a tie each gets half of the derivative."""
    a, b = _alike(a, b)
    return tf.where(a < b, a, tf.where(a > b, b, 0.5 * a + 0.5 * b))


def trunc(x: Any) -> Any:
    """Towards zero."""
    return tf.where(x < 0, tf.math.ceil(x), tf.math.floor(x))


def where(condition: Any, a: Any, b: Any) -> Any:
    """``a`` where ``condition`` holds, else ``b``. Python numbers take the dtype of the other one."""
    return tf.where(condition, *_alike(a, b))


def widen(x: Any) -> Any:
    """``x`` in float32 if it is float16 or bfloat16."""
    return tf.cast(x, tf.float32) if getattr(x, "dtype", None) in (tf.float16, tf.bfloat16) else x


def astype_like(x: Any, like: Any) -> Any:
    """``x`` in the dtype of ``like``."""
    return tf.cast(x, like.dtype)


def _alike(a: Any, b: Any) -> tuple[Any, Any]:
    """Both as tensors of one dtype: the dtype of the one that has one, else float32."""
    dtype = getattr(a, "dtype", None) or getattr(b, "dtype", None) or tf.float32
    return tf.convert_to_tensor(a, dtype), tf.convert_to_tensor(b, dtype)
