"""Gradients for ``argmax`` and ``argmin`` along their axis, and for ``maximum`` and ``minimum``.

Those of ``argmax`` are over the one-hot vector of the index: ``g`` has the shape of x, and says how the loss
changes with each class's entry. ``argmin(x)`` is ``argmax(-x)``.

Those of ``maximum`` and ``minimum`` are windows, closed at NaN: nothing passes.
"""

from __future__ import annotations

from typing import Any

from surrogate._parameters import Positive
from surrogate._partial import window
from surrogate._registry import register


def _softmax_vjp(xp: Any, g: Any, x: Any, axis: int | None, temperature: Any) -> Any:
    p = xp.softmax(x / temperature, axis=axis)
    return p * (g - xp.sum(p * g, axis=axis, keepdims=True)) / temperature


@register("argmax", name="softmax", upstream=True, symmetric=True)
def argmax_softmax(xp: Any, g: Any, x: Any, *, axis: int | None = None, temperature: Positive = 1.0) -> Any:
    """p (g - sum(p g)) / T with p = softmax(x/T) along the axis and T = temperature: softmax's own vjp.

    The one-hot vector is taken for softmax(x/T), its limit as T goes to 0 where there is no tie. Cotangents
    along the axis add up to 0; ties share. NaN where x has an infinity or NaN. Forward mode is the same
    function, as the Jacobian is symmetric. Jang, Gu, Poole 2017, "Categorical Reparameterization with
    Gumbel-Softmax" (the straight-through variant, without noise), arXiv 1611.01144.
    """
    return _softmax_vjp(xp, g, x, axis, temperature)


@register("argmin", name="softmax", upstream=True, symmetric=True)
def argmin_softmax(xp: Any, g: Any, x: Any, *, axis: int | None = None, temperature: Positive = 1.0) -> Any:
    """-p (g - sum(p g)) / T with p = softmax(-x/T) along the axis and T = temperature.

    That of ``argmax`` at -x, as in vector quantisation with soft assignment: Agustsson, Mentzer, Tschannen,
    Cavigelli, Timofte, Benini, Van Gool 2017, "Soft-to-Hard Vector Quantization for End-to-End Learning
    Compressible Representations", arXiv 1704.00648.
    """
    return -_softmax_vjp(xp, g, -x, axis, temperature)


@register("argmax", name="identity", upstream=True, symmetric=True)
def argmax_identity(xp: Any, g: Any) -> Any:
    """g as it is: the one-hot vector straight through. Bengio, Léonard, Courville 2013, arXiv 1308.3432."""
    return g


@register("argmin", name="identity", upstream=True, symmetric=True)
def argmin_identity(xp: Any, g: Any) -> Any:
    """-g: the one-hot vector of argmax(-x) straight through."""
    return -g


@register("maximum", name="closed")
def maximum_closed(xp: Any, x: Any, y: Any) -> Any:
    """1[x >= y] to x, 1[x < y] to y: a tie goes to x, and the two add up to g."""
    return x >= y, x < y


@register("minimum", name="closed")
def minimum_closed(xp: Any, x: Any, y: Any) -> Any:
    """1[x <= y] to x, 1[x > y] to y: a tie goes to x, and the two add up to g."""
    return x <= y, x > y


@register("maximum", name="split")
def maximum_split(xp: Any, x: Any, y: Any) -> Any:
    """1 to the larger, 1/2 to each at a tie: the two add up to g."""
    half = xp.where(x == y, 0.5, xp.ones_like(x))
    return window(x >= y, half), window(x <= y, half)


@register("minimum", name="split")
def minimum_split(xp: Any, x: Any, y: Any) -> Any:
    """1 to the smaller, 1/2 to each at a tie: the two add up to g."""
    half = xp.where(x == y, 0.5, xp.ones_like(x))
    return window(x <= y, half), window(x >= y, half)


@register("maximum", name="identity")
@register("minimum", name="identity")
def identity(xp: Any, x: Any) -> Any:
    """1 everywhere to x, 0 to y: x straight through a bound."""
    return 1.0


@register("maximum", name="towards", upstream=True)
def maximum_towards(xp: Any, g: Any, x: Any, y: Any) -> Any:
    """g to x where x >= y, and below where the step -g raises x (g < 0); else 0. 0 to y, and at NaN.

    There is no forward mode. Known from the TensorFlow Compression library's ``lower_bound`` as
    "identity_if_towards".
    """
    return xp.where((x >= y) | ((x < y) & (g < 0)), g, 0.0)


@register("minimum", name="towards", upstream=True)
def minimum_towards(xp: Any, g: Any, x: Any, y: Any) -> Any:
    """g to x where x <= y, and above where the step -g lowers x (g > 0); else 0. 0 to y, and at NaN.

    There is no forward mode. Known from the TensorFlow Compression library's ``upper_bound`` as
    "identity_if_towards".
    """
    return xp.where((x <= y) | ((x > y) & (g > 0)), g, 0.0)
