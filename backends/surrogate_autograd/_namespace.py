"""The namespace ``xp`` that formulas are evaluated over: NumPy's functions, differentiable by autograd.

These are primitives of our own. The hooks never see them, and where a derivative has a choice they
make the library's: autograd's own are NaN for ``abs`` at infinity, and widen float32 in ``maximum``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import autograd.numpy as anp
import numpy as np
from autograd.extend import defjvp, defvjp
from numpy import e as e, inf as inf, nan as nan, pi as pi

import surrogate
from surrogate_autograd._extend import flat, primitive, unless_boxed
from surrogate_autograd._hooks import getval
from surrogate_autograd._sum import cast, fit, keep_dtype, meta, spread

Array = Any
Unary = Callable[[Array], Array]
Binary = Callable[[Array, Array], Array]

__all__ = list(surrogate.reference.xp.__all__)

# -- constant almost everywhere: evaluated on the bare arrays ----------------------------------

ceil = flat(np.ceil)
floor = flat(np.floor)
isfinite = flat(np.isfinite)
isinf = flat(np.isinf)
isnan = flat(np.isnan)
logical_and = flat(np.logical_and)
logical_not = flat(np.logical_not)
logical_or = flat(np.logical_or)
ones_like = flat(np.ones_like)
round = flat(np.rint)
sign = flat(np.sign)
trunc = flat(np.trunc)
zeros_like = flat(np.zeros_like)

# -- functions of one variable -----------------------------------------------------------------


def _smooth(function: Callable[[Array], Array], derivative: Callable[[Array, Array], Array]) -> Unary:
    """A primitive with ``derivative(x, y)``, where ``y = function(x)``."""

    # a function of our own around the ufunc: autograd keeps one primitive for each ufunc, its own
    def evaluate(x: Array) -> Array:
        return function(x)

    smooth = primitive(evaluate)
    defvjp(smooth, lambda y, x: lambda g: g * derivative(x, y))
    defjvp(smooth, lambda t, y, x: t * derivative(x, y))
    return unless_boxed(function, smooth)


abs: Unary = _smooth(np.abs, lambda x, y: sign(x))
atan: Unary = _smooth(np.arctan, lambda x, y: 1 / (1 + x * x))
cos: Unary = _smooth(np.cos, lambda x, y: -sin(x))
cosh: Unary = _smooth(np.cosh, lambda x, y: sinh(x))
exp: Unary = _smooth(np.exp, lambda x, y: y)
expm1: Unary = _smooth(np.expm1, lambda x, y: exp(x))
log: Unary = _smooth(np.log, lambda x, y: 1 / x)
log1p: Unary = _smooth(np.log1p, lambda x, y: 1 / (1 + x))
sin: Unary = _smooth(np.sin, lambda x, y: cos(x))
sinh: Unary = _smooth(np.sinh, lambda x, y: cosh(x))
sqrt: Unary = _smooth(np.sqrt, lambda x, y: 0.5 / y)
square: Unary = _smooth(np.square, lambda x, y: 2 * x)
tan: Unary = _smooth(np.tan, lambda x, y: 1 + y * y)
tanh: Unary = _smooth(np.tanh, lambda x, y: 1 - y * y)

# -- functions of two --------------------------------------------------------------------------


def _binary(
    function: Callable[..., Array],
    by_x: Callable[[Array, Array, Array, Array], Array],
    by_y: Callable[[Array, Array, Array, Array], Array],
) -> Binary:
    """A primitive with ``by_x(v, z, x, y)``: the derivative by x times v, where ``z = function(x, y)``."""

    def evaluate(x: Array, y: Array) -> Array:
        return function(x, y)

    binary = primitive(evaluate)
    defvjp(
        binary,
        lambda z, x, y: lambda g: fit(by_x(g, z, x, y), meta(x)),
        lambda z, x, y: lambda g: fit(by_y(g, z, x, y), meta(y)),
    )
    defjvp(
        binary,
        lambda t, z, x, y: spread(by_x(t, z, x, y), meta(z)),
        lambda t, z, x, y: spread(by_y(t, z, x, y), meta(z)),
    )
    return unless_boxed(function, binary)


def _share(v: Array, ahead: Array, tie: Array) -> Array:
    """All of ``v`` where this operand is ahead, half of it at a tie."""
    return where(ahead, v, where(tie, 0.5 * v, zeros_like(v)))


def _rest(v: Array, ahead: Array, tie: Array) -> Array:
    """What :func:`_share` leaves to the other operand."""
    return where(ahead, zeros_like(v), where(tie, 0.5 * v, v))


@flat
def _above(x: Array, y: Array) -> tuple[Array, Array]:
    return x > y, x == y


@flat
def _below(x: Array, y: Array) -> tuple[Array, Array]:
    return x < y, x == y


pow: Binary = _binary(
    np.power,
    lambda v, z, x, y: v * (y * pow(x, y - 1)),
    lambda v, z, x, y: v * (z * log(x)),
)
maximum: Binary = _binary(
    np.maximum,
    lambda v, z, x, y: _share(v, *_above(x, y)),
    lambda v, z, x, y: _rest(v, *_above(x, y)),
)
minimum: Binary = _binary(
    np.minimum,
    lambda v, z, x, y: _share(v, *_below(x, y)),
    lambda v, z, x, y: _rest(v, *_below(x, y)),
)


def where(mask: Array, x: Array, y: Array) -> Array:
    """``x`` where the mask holds, else ``y``; so are the derivatives selected."""
    return _where(getval(mask), x, y)


def _select(mask: Array, x: Array, y: Array) -> Array:
    return np.asarray(np.where(mask, x, y))[()]


_smooth_where = primitive(_select)
_where = unless_boxed(_select, _smooth_where)

defvjp(
    _smooth_where,
    lambda z, mask, x, y: lambda g: fit(_where(mask, g, zeros_like(g)), meta(x)),
    lambda z, mask, x, y: lambda g: fit(_where(mask, zeros_like(g), g), meta(y)),
    argnums=(1, 2),
)
defjvp(
    _smooth_where,
    lambda t, z, mask, x, y: spread(_where(mask, t, zeros_like(t)), meta(z)),
    lambda t, z, mask, x, y: spread(_where(mask, zeros_like(t), t), meta(z)),
    argnums=(1, 2),
)

parameter = surrogate.reference.xp.parameter

# -- dtypes ------------------------------------------------------------------------------------


def widen(x: Array) -> Array:
    """``x`` in float32 if its dtype is narrower: formulas are evaluated there and rounded once."""
    dtype = getattr(x, "dtype", None)
    if dtype is None or dtype.kind != "f":
        return x
    if dtype.itemsize < 4:
        return cast(x, np.dtype(np.float32))
    return x if isinstance(x, np.ndarray) else keep_dtype(x)


def astype_like(x: Array, like: Array) -> Array:
    """``x`` in the dtype of ``like``."""
    return cast(x, like.dtype)


def sum(x: Array, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Array:
    """The sum over axes, all of them if None."""
    return anp.sum(x, axis=axis, keepdims=keepdims)


def softmax(x: Array, axis: int | None = None) -> Array:
    """``exp(x)`` divided by its sum along an axis, over all elements if None; it does not overflow."""
    shifted = exp(x - np.max(getval(x), axis=axis, keepdims=True))
    return shifted / sum(shifted, axis=axis, keepdims=True)
