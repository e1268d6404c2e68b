"""Dual numbers over NumPy: the exact derivative of a formula, for the reference's second order.

The derivative has the library's own conventions where there is a choice, those of the list in
``surrogate._numpy``; every backend's namespace must agree with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from surrogate import _numpy

__all__ = [*_numpy.__all__]

e, inf, nan, pi = np.e, np.inf, np.nan, np.pi


class Dual:
    """A value and its derivative along one direction, as float64 arrays."""

    __array_ufunc__ = None  # NumPy leaves its operators to us

    def __init__(self, value: Any, slope: Any) -> None:
        self.value = np.asarray(value)
        self.slope = np.asarray(slope)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.value.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    def __getitem__(self, key: Any) -> Dual:
        return Dual(self.value[key], np.broadcast_to(self.slope, self.value.shape)[key])

    def __add__(self, other: Any) -> Dual:
        return Dual(self.value + _value(other), self.slope + _slope(other))

    def __sub__(self, other: Any) -> Dual:
        return Dual(self.value - _value(other), self.slope - _slope(other))

    def __mul__(self, other: Any) -> Dual:
        a, b = self.value, _value(other)
        return Dual(a * b, self.slope * b + (a * other.slope if isinstance(other, Dual) else 0.0))

    def __truediv__(self, other: Any) -> Dual:
        a, b = self.value, _value(other)
        slope = self.slope / b
        return Dual(a / b, slope - (a / (b * b) * other.slope if isinstance(other, Dual) else 0.0))

    def __rtruediv__(self, other: Any) -> Dual:
        return Dual(other / self.value, -other / (self.value * self.value) * self.slope)

    def __rsub__(self, other: Any) -> Dual:
        return Dual(other - self.value, -self.slope)

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.slope)

    def __pow__(self, other: Any) -> Any:
        return pow(self, other)

    def __rpow__(self, other: Any) -> Any:
        return pow(other, self)

    __radd__ = __add__
    __rmul__ = __mul__

    def __abs__(self) -> Any:
        return abs(self)

    def __lt__(self, other: Any) -> Any:
        return self.value < _value(other)

    def __le__(self, other: Any) -> Any:
        return self.value <= _value(other)

    def __gt__(self, other: Any) -> Any:
        return self.value > _value(other)

    def __ge__(self, other: Any) -> Any:
        return self.value >= _value(other)

    def __eq__(self, other: object) -> Any:
        return self.value == _value(other)

    def __ne__(self, other: object) -> Any:
        return self.value != _value(other)

    __hash__ = None  # type: ignore[assignment]


def _value(x: Any) -> Any:
    return x.value if isinstance(x, Dual) else x


def _slope(x: Any) -> Any:
    return x.slope if isinstance(x, Dual) else 0.0


def _lift(function: Callable[[Any], Any], derivative: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """A function of one variable; ``derivative(x, y)`` where ``y = function(x)``."""

    def lifted(x: Any) -> Any:
        if not isinstance(x, Dual):
            return function(x)
        y = function(x.value)
        return Dual(y, derivative(x.value, y) * x.slope)

    return lifted


def _flat(x: Any, y: Any) -> Any:
    return 0.0


abs = _lift(np.abs, lambda x, y: np.sign(x))
atan = _lift(np.arctan, lambda x, y: 1 / (1 + x * x))
ceil = _lift(np.ceil, _flat)
cos = _lift(np.cos, lambda x, y: -np.sin(x))
cosh = _lift(np.cosh, lambda x, y: np.sinh(x))
exp = _lift(np.exp, lambda x, y: y)
expm1 = _lift(np.expm1, lambda x, y: np.exp(x))
floor = _lift(np.floor, _flat)
log = _lift(np.log, lambda x, y: 1 / x)
log1p = _lift(np.log1p, lambda x, y: 1 / (1 + x))
round = _lift(np.rint, _flat)
sign = _lift(np.sign, _flat)
sin = _lift(np.sin, lambda x, y: np.cos(x))
sinh = _lift(np.sinh, lambda x, y: np.cosh(x))
sqrt = _lift(np.sqrt, lambda x, y: 0.5 / y)
square = _lift(np.square, lambda x, y: 2 * x)
tan = _lift(np.tan, lambda x, y: 1 + y * y)
tanh = _lift(np.tanh, lambda x, y: 1 - y * y)
trunc = _lift(np.trunc, _flat)


def pow(x: Any, y: Any) -> Any:
    a, b = _value(x), _value(y)
    value = np.power(a, b)
    slope: Any = 0.0
    if isinstance(x, Dual):
        slope = slope + b * np.power(a, b - 1) * x.slope
    if isinstance(y, Dual):
        slope = slope + value * np.log(a) * y.slope
    return Dual(value, slope)


def where(mask: Any, x: Any, y: Any) -> Any:
    mask = _value(mask)
    return Dual(np.where(mask, _value(x), _value(y)), np.where(mask, _slope(x), _slope(y)))


def _pick(
    better: Callable[[Any, Any], Any], function: Callable[[Any, Any], Any]
) -> Callable[[Any, Any], Any]:
    def picked(x: Any, y: Any) -> Any:
        a, b = _value(x), _value(y)
        share = np.where(a == b, 0.5, better(a, b))
        return Dual(function(a, b), share * _slope(x) + (1 - share) * _slope(y))

    return picked


maximum = _pick(np.greater, np.maximum)
minimum = _pick(np.less, np.minimum)


def isfinite(x: Any) -> Any:
    return np.isfinite(_value(x))


def isinf(x: Any) -> Any:
    return np.isinf(_value(x))


def isnan(x: Any) -> Any:
    return np.isnan(_value(x))


def logical_and(x: Any, y: Any) -> Any:
    return np.logical_and(_value(x), _value(y))


def logical_or(x: Any, y: Any) -> Any:
    return np.logical_or(_value(x), _value(y))


def logical_not(x: Any) -> Any:
    return np.logical_not(_value(x))


def zeros_like(x: Any) -> Any:
    return np.zeros_like(_value(x))


def ones_like(x: Any) -> Any:
    return np.ones_like(_value(x))


def widen(x: Any) -> Any:
    return x


def astype_like(x: Any, like: Any) -> Any:
    return x


def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    if not isinstance(x, Dual):
        return np.sum(x, axis=axis, keepdims=keepdims)
    slope = np.broadcast_to(x.slope, x.value.shape)
    return Dual(*(np.sum(part, axis=axis, keepdims=keepdims) for part in (x.value, slope)))


def softmax(x: Any, axis: int | None = None) -> Any:
    shifted = exp(x - np.max(_value(x), axis=axis, keepdims=True))
    return shifted / sum(shifted, axis=axis, keepdims=True)


def parameter(value: Any, like: Any) -> Any:
    return value.array
