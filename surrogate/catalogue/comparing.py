"""Gradients for ``equal`` and ``not_equal``: a bump of the difference of the two operands.

``equal(x, y)`` is taken for b(x - y), with b an even bump, 1 at 0; the gradient is b'(x - y) by x and
-b'(x - y) by y: it draws two values that are apart towards each other or away. ``not_equal`` is 1 - b, with
the negative. All are 0 at x = y, by symmetry, and at infinity; NaN propagates.

The orderings ``greater``, ``greater_equal``, ``less`` and ``less_equal`` have every gradient of
``heaviside``, and ``searchsorted`` has them for the step at each boundary.
"""

from __future__ import annotations

from typing import Any

from surrogate._parameters import Positive
from surrogate._partial import window
from surrogate._registry import register
from surrogate.catalogue._stable import sech2


@register("equal")
def triangle(xp: Any, x: Any, *, width: Positive = 1.0) -> Any:
    """-sign(d)/width for 0 < |d| < width, else 0, with d = x - y: the derivative of max(0, 1 - |d|/width).

    0 at both ties, d = 0 and |d| = width, and at NaN.
    """
    away = xp.abs(x)
    return window(
        xp.logical_and(away > 0, away < width), xp.sign(xp.where(xp.isnan(x), 0.0, x)) * (-1 / width)
    )


@register("equal")
def gaussian(xp: Any, x: Any, *, sigma: Positive = 0.5) -> Any:
    """-(d/sigma^2) exp(-d^2 / (2 sigma^2)) with d = x - y: the derivative of exp(-d^2 / (2 sigma^2))."""
    far = xp.abs(x) > 40 * sigma  # exp is 0 there in every dtype, and 0 * inf is NaN
    z = xp.where(far, 0.0, x) / sigma
    return z * xp.exp(-0.5 * xp.square(z)) * (-1 / sigma)


@register("equal")
def laplace(xp: Any, x: Any, *, alpha: Positive = 1.0) -> Any:
    """-alpha sign(d) exp(-alpha|d|) with d = x - y: the derivative of exp(-alpha|d|); 0 at d = 0."""
    return -alpha * xp.sign(x) * xp.exp(-alpha * xp.abs(x))


@register("equal")
def sigmoid(xp: Any, x: Any, *, slope: Positive = 4.0) -> Any:
    """-k tanh(kd/2) (1 - tanh(kd/2)^2) with k = slope and d = x - y.

    The derivative of 4 s(kd)(1 - s(kd)), s the logistic function: the bump that is ``sigmoid`` for
    ``heaviside``, with peak 1.
    """
    z = (slope / 2) * x
    return -slope * xp.tanh(z) * sech2(xp, z)


@register("equal")
def arctan(xp: Any, x: Any, *, alpha: Positive = 2.0) -> Any:
    """-2c^2 d / (1 + c^2 d^2)^2 with c = pi*alpha/2 and d = x - y: the derivative of 1 / (1 + c^2 d^2)."""
    c = xp.pi * alpha / 2
    z = c * x
    bump = 1 / (1 + xp.square(z))
    return (-2 * c) * (xp.where(xp.isinf(z), 0.0, z) * bump) * bump


@register("equal")
def zero(xp: Any, x: Any) -> Any:
    """0 to both."""
    return 0.0
