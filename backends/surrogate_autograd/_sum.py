"""Shapes and dtypes of cotangents, differentiable again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import autograd.numpy as anp
import numpy as np
from autograd.extend import defjvp, defvjp

from surrogate import broadcast_axes
from surrogate_autograd._extend import primitive
from surrogate_autograd._hooks import getval

Array = Any

_NUMPY = (np.ndarray, np.generic)


class Meta(NamedTuple):
    """What is kept of an array to give its cotangent its shape and dtype."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def meta(x: Array) -> Meta:
    """Shape and dtype of an array, a number, or a box of either."""
    x = getval(x)
    if not isinstance(x, _NUMPY):
        x = np.asarray(x)
    return Meta(x.shape, x.dtype)


@primitive
def _cast(x: Array, dtype: np.dtype[Any]) -> Array:
    return np.asarray(x, dtype)[()]


defvjp(_cast, lambda ans, x, dtype: _cast_to_that_of(x))
defjvp(_cast, lambda g, ans, x, dtype: _cast(g, dtype))


def _cast_to_that_of(x: Array) -> Callable[[Array], Array]:
    dtype = meta(x).dtype
    return lambda g: cast(g, dtype)


def cast(x: Array, dtype: np.dtype[Any]) -> Array:
    """``x`` in this dtype, itself if it has it; its cotangent comes back in its own dtype."""
    own = getattr(x, "dtype", None)
    return x if own is not None and own == dtype else _cast(x, dtype)  # None equals float64 to NumPy


@primitive
def keep_dtype(x: Array) -> Array:
    """``x``; its cotangent comes back in its own dtype, whatever other dtypes it met on the way."""
    return x


defvjp(keep_dtype, lambda ans, x: _cast_to_that_of(x))
defjvp(keep_dtype, lambda g, ans, x: g)


def fit(x: Array, to: Meta) -> Array:
    """``x`` summed to the shape of an operand that was broadcast, in the operand's dtype."""
    has = meta(x)
    if has.shape != to.shape:
        if has.dtype.itemsize < 4:
            x = cast(x, np.dtype(np.float32))
        x = anp.reshape(anp.sum(x, axis=broadcast_axes(has.shape, to.shape)), to.shape)
    return cast(x, to.dtype)


@primitive
def _broadcast(x: Array, shape: tuple[int, ...]) -> Array:
    return np.broadcast_to(x, shape)


# autograd's own broadcast_to cannot add leading axes backwards
defvjp(_broadcast, lambda ans, x, shape: _fit_to_that_of(x))
defjvp(_broadcast, lambda g, ans, x, shape: _broadcast(g, shape))


def _fit_to_that_of(x: Array) -> Callable[[Array], Array]:
    to = meta(x)
    return lambda g: fit(g, to)


def spread(x: Array, to: Meta) -> Array:
    """``x`` broadcast to the shape and cast to the dtype of an output."""
    return cast(x if meta(x).shape == to.shape else _broadcast(x, to.shape), to.dtype)
