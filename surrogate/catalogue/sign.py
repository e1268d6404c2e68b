"""Gradients for ``sign``, whose own is 0."""

from __future__ import annotations

from typing import Any

from surrogate._parameters import Positive
from surrogate._registry import register


@register("sign")
def hardtanh(xp: Any, x: Any, *, width: Positive = 1.0) -> Any:
    """1[|x| <= width]: 1 inside the window, its two edges included; 0 outside and at NaN.

    Also known as the clipped straight-through estimator, Htanh. Courbariaux, Hubara, Soudry, El-Yaniv,
    Bengio 2016, "Binarized Neural Networks", arXiv 1602.02830.
    """
    return xp.abs(x) <= width


@register("sign")
def identity(xp: Any, x: Any) -> Any:
    """1 everywhere: the straight-through estimator.

    Bengio, Léonard, Courville 2013, "Estimating or Propagating Gradients Through Stochastic Neurons for
    Conditional Computation", arXiv 1308.3432.
    """
    return 1.0


@register("sign")
def zero(xp: Any, x: Any) -> Any:
    """0 everywhere: what frameworks do, but the same in all of them."""
    return 0.0
