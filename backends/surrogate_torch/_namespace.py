"""The namespace ``xp`` that formulas are evaluated over: PyTorch behind the core's list of names.

Every function takes tensors or Python numbers; numbers alone give a Python number. All of it is
differentiable again, with the library's conventions: ``abs`` has derivative 0 at 0, ``maximum`` and
``minimum`` give half to each at a tie, ``where`` selects, ``sign`` and the roundings have derivative 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from surrogate_torch import _select
from surrogate_torch._parameter import parameter

Array = Any

e, inf, nan, pi = math.e, math.inf, math.nan, math.pi

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


def _unary(on_tensor: Callable[[Any], Any], on_number: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def function(x: Array) -> Array:
        if isinstance(x, torch.Tensor):
            return on_tensor(x)
        with np.errstate(all="ignore"):
            return on_number(x).item()

    return function


def _sign(x: Any) -> Any:
    # torch.sign(nan) is 0; a formula propagates NaN
    return torch.where(torch.isnan(x), nan, torch.sign(x))


abs = _unary(torch.abs, np.abs)
atan = _unary(torch.atan, np.arctan)
ceil = _unary(torch.ceil, np.ceil)
cos = _unary(torch.cos, np.cos)
cosh = _unary(torch.cosh, np.cosh)
exp = _unary(torch.exp, np.exp)
expm1 = _unary(torch.expm1, np.expm1)
floor = _unary(torch.floor, np.floor)
isfinite = _unary(torch.isfinite, np.isfinite)
isinf = _unary(torch.isinf, np.isinf)
isnan = _unary(torch.isnan, np.isnan)
log = _unary(torch.log, np.log)
log1p = _unary(torch.log1p, np.log1p)
logical_not = _unary(torch.logical_not, np.logical_not)
round = _unary(torch.round, np.rint)
sign = _unary(_sign, np.sign)
sin = _unary(torch.sin, np.sin)
sinh = _unary(torch.sinh, np.sinh)
sqrt = _unary(torch.sqrt, np.sqrt)
square = _unary(torch.square, np.square)
tan = _unary(torch.tan, np.tan)
tanh = _unary(torch.tanh, np.tanh)
trunc = _unary(torch.trunc, np.trunc)


def _binary(
    on_tensors: Callable[[Any, Any], Any], on_numbers: Callable[[Any, Any], Any]
) -> Callable[[Any, Any], Any]:
    def function(x: Array, y: Array) -> Array:
        if isinstance(x, torch.Tensor):
            return on_tensors(x, y if isinstance(y, torch.Tensor) else _like(y, x))
        if isinstance(y, torch.Tensor):
            return on_tensors(_like(x, y), y)
        with np.errstate(all="ignore"):
            return on_numbers(x, y).item()

    return function


def _like(number: Any, x: Any) -> Any:
    return torch.full((), number, dtype=x.dtype, device=x.device)


logical_and = _binary(torch.logical_and, np.logical_and)
logical_or = _binary(torch.logical_or, np.logical_or)
maximum = _binary(torch.maximum, np.maximum)
minimum = _binary(torch.minimum, np.minimum)


def pow(x: Array, y: Array) -> Array:
    """``x ** y``."""
    if isinstance(x, torch.Tensor) or isinstance(y, torch.Tensor):
        return torch.pow(x, y)
    with np.errstate(all="ignore"):
        return np.power(float(x), float(y)).item()


def where(mask: Array, x: Array, y: Array) -> Array:
    """``x`` where ``mask`` holds, ``y`` elsewhere: selected, never multiplied."""
    if not isinstance(mask, torch.Tensor):
        return x if mask else y
    return _select.where(mask, x, y)


def zeros_like(x: Array) -> Array:
    """0 in the shape and dtype of ``x``."""
    return _select.zeros_like(x) if isinstance(x, torch.Tensor) else 0.0


def ones_like(x: Array) -> Array:
    """1 in the shape and dtype of ``x``."""
    return torch.ones_like(x) if isinstance(x, torch.Tensor) else 1.0


def widen(x: Array) -> Array:
    """``x`` in float32 if its dtype is narrower: formulas are evaluated there and rounded once."""
    narrow = isinstance(x, torch.Tensor) and x.is_floating_point() and x.element_size() < 4
    return x.to(torch.float32) if narrow else x


def astype_like(x: Array, like: Array) -> Array:
    """``x`` in the dtype of ``like``."""
    if not isinstance(x, torch.Tensor):
        return torch.full_like(like, x)
    return x if x.dtype == like.dtype else x.to(like.dtype)


def sum(x: Array, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Array:
    """The sum over axes, all of them if None."""
    return torch.sum(x, dim=axis, keepdim=keepdims)


def softmax(x: Array, axis: int | None = None) -> Array:
    """``exp(x)`` divided by its sum along an axis, over all elements if None; it does not overflow."""
    flat = axis is None
    found = torch.softmax(x.reshape(-1) if flat else x, dim=0 if flat else axis)
    return found.reshape(x.shape) if flat else found
