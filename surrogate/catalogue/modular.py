"""Gradients for ``mod``, ``fmod`` and ``floor_divide``: partial derivatives by x and y.

At y = 0 they follow the formula (inf or NaN), the same in all backends.
"""

from __future__ import annotations

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


@register("fmod", name="exact")
def fmod_exact(xp: Any, x: Any, y: Any) -> Any:
    """(1, -trunc(x/y)): the derivative of x - y*trunc(x/y) between its jumps."""
    return 1.0, -xp.trunc(x / y)


@register("floor_divide", name="identity")
def as_true_division(xp: Any, x: Any, y: Any) -> Any:
    """(1/y, -x/y^2): as true division, the floor passed straight through."""
    return 1 / y, -x / (y * y)


@register("floor_divide", name="zero")
def floor_divide_zero(xp: Any, x: Any) -> Any:
    """(0, 0)."""
    return 0.0
