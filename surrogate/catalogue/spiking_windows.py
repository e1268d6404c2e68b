"""Gradients for ``heaviside`` that are constant or piecewise: windows, a triangle, straight through.

As in ``heaviside``, each is the derivative by the first operand; the value at 0 gets g where x = 0.
"""

from __future__ import annotations

from typing import Any

from surrogate._parameters import NonNegative, Positive
from surrogate._partial import window
from surrogate._registry import register
from surrogate.catalogue import _by


@register("heaviside")
def identity(xp: Any, x: Any) -> Any:
    """1 everywhere: the straight-through estimator.

    Bengio, Léonard, Courville 2013, arXiv 1308.3432.
    """
    return 1.0


@register("heaviside")
def zero(xp: Any, x: Any) -> Any:
    """0 everywhere."""
    return 0.0


@register("heaviside", by={"width": _by.boxcar_by_width, "height": _by.boxcar_by_height})
def boxcar(xp: Any, x: Any, *, width: Positive = 0.5, height: Positive = 1.0) -> Any:
    """height * 1[|x| <= width]: a rectangle, its two edges included; 0 outside and at NaN.

    Even, mass 2 width height. Wu, Deng, Li, Zhu, Shi 2018, "Spatio-Temporal Backpropagation for Training
    High-performance Spiking Neural Networks", arXiv 1706.02609.
    """
    return window(xp.abs(x) <= width, height, 0.0)


@register("heaviside", by={"width": _by.boxcar_by_width, "height": _by.boxcar_by_height})
def open_boxcar(xp: Any, x: Any, *, width: Positive = 0.5, height: Positive = 1.0) -> Any:
    """height * 1[|x| < width]: a rectangle without its two edges; 0 there, outside and at NaN.

    Even, mass 2 width height. The edges are outside, as in SpikingJelly's ``Rect`` and spyx's ``boxcar``.
    """
    return window(xp.abs(x) < width, height, 0.0)


@register("heaviside", by={"width": _by.unit_box})
def hardtanh(xp: Any, x: Any, *, width: Positive = 1.0) -> Any:
    """1/(2 width) for |x| <= width, edges included; 0 outside and at NaN.

    The derivative of (hardtanh(x/width) + 1)/2. Even, mass 1, slope 1/2 at width 1: what a step written as
    (sign(x) + 1)/2 gets from ``sign``'s clipped straight-through estimator. Courbariaux, Hubara, Soudry,
    El-Yaniv, Bengio 2016, arXiv 1602.02830.
    """
    return window(xp.abs(x) <= width, 1 / (2 * width), 0.0)


@register("heaviside")
def triangle(xp: Any, x: Any, *, width: Positive = 1.0, height: Positive = 1.0) -> Any:
    """height * max(0, 1 - |x|/width).

    Even with a corner at 0, mass width*height, 0 from the edges on; NaN at NaN. Esser, Merolla, Arthur,
    Cassidy et al. 2016, "Convolutional Networks for Fast, Energy-Efficient Neuromorphic Computing",
    arXiv 1603.08270. With height 0.3: Bellec, Salaj, Subramoney, Legenstein, Maass 2018, "Long Short-term
    Memory and Learning-to-learn in Networks of Spiking Neurons", arXiv 1803.09574.
    """
    a = xp.abs(x)
    outside = a > width
    within = xp.where(outside, width, a)  # finite also where it is not selected
    return window(xp.logical_not(outside), (height / width) * (width - within))


@register("heaviside")
def piecewise_leaky(xp: Any, x: Any, *, width: Positive = 1.0, leak: NonNegative = 0.01) -> Any:
    """1/(2 width) for |x| <= width, edges included; leak outside and at NaN.

    Even; its mass is infinite unless leak is 0. Known from the SpikingJelly library as
    ``PiecewiseLeakyReLU``.
    """
    return window(xp.abs(x) <= width, 1 / (2 * width), leak)
