"""Gradients for ``mod``, ``fmod`` and ``floor_divide``: partial derivatives by x and y.

At y = 0 they follow the formula (inf or NaN), the same in all backends; so they do at infinity, where
x/y has no remainder: NaN where the formula needs one.
"""

from __future__ import annotations

import math
from typing import Any

from surrogate._registry import register


@register("mod", name="exact")
def mod_exact(xp: Any, x: Any, y: Any) -> Any:
    """(1, -floor(x/y)): the derivative of x - y*floor(x/y) between its jumps."""
    return 1.0, -xp.floor(x / y)


@register("mod", name="identity")
@register("fmod", name="identity")
def dividend_only(xp: Any, x: Any) -> Any:
    """(1, 0): the dividend passes, the divisor gets nothing."""
    return 1.0


def _beyond(xp: Any, x: Any, y: Any, n: Any) -> Any:
    """x/y - n, by way of x - n*y: x/y itself has lost digits of its fraction when it is large."""
    return xp.where(n == 0, x / y, (x - n * y) / y)


@register("mod", name="straight_through")
def mod_straight_through(xp: Any, x: Any, y: Any) -> Any:
    """(0, x/y - floor(x/y)): what an identity gradient for the floor inside x - y*floor(x/y) gives."""
    return 0.0, _beyond(xp, x, y, xp.floor(x / y))


@register("mod", name="sine")
def mod_sine(xp: Any, x: Any, y: Any) -> Any:
    """(-2 cos(2 pi q), 1/2 - sin(2 pi q)/pi + 2q cos(2 pi q)) with q = x/y.

    The derivatives of y/2 - (y/pi) sin(2 pi x/y), the sawtooth's mean and first harmonic: negative at
    the jumps, where the sawtooth falls.
    """
    q = x / y
    r = _beyond(xp, x, y, xp.round(q))  # in [-1/2, 1/2]; cos(2 pi r) keeps its digits near its zeros
    cosine = xp.sin((2 * xp.pi) * (0.25 - xp.abs(r)))
    return -2 * cosine, 0.5 - xp.sin((2 * xp.pi) * r) / xp.pi + 2 * q * cosine


@register("fmod", name="exact")
def fmod_exact(xp: Any, x: Any, y: Any) -> Any:
    """(1, -trunc(x/y)): the derivative of x - y*trunc(x/y) between its jumps."""
    return 1.0, -xp.trunc(x / y)


@register("floor_divide", name="identity")
def as_true_division(xp: Any, x: Any, y: Any) -> Any:
    """(1/y, -x/y^2): as true division, the floor passed straight through."""
    # y*y would under- or overflow early; a Python 0 raises where an array's is infinite
    by_x = math.copysign(math.inf, y) if isinstance(y, int | float) and y == 0 else 1 / y
    return by_x, -(x / y) / y


@register("floor_divide", name="zero")
def floor_divide_zero(xp: Any, x: Any) -> Any:
    """(0, 0)."""
    return 0.0
