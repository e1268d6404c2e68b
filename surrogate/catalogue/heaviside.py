"""Gradients for ``heaviside``, whose own is 0, missing, or an error.

Each is the derivative by the first operand. The second operand, the value at 0, gets the upstream
gradient where x = 0 and 0 elsewhere, whatever the gradient.
"""

from __future__ import annotations

from typing import Any

from surrogate._parameters import Positive
from surrogate._registry import register


@register("heaviside")
def arctan(xp: Any, x: Any, *, alpha: Positive = 2.0) -> Any:
    """(alpha/2) / (1 + (pi*alpha*x/2)^2): the derivative of arctan(pi*alpha*x/2)/pi + 1/2.

    Even, with peak alpha/2 at 0 and mass 1. Fang, Yu, Chen, Masquelier, Huang, Tian 2021,
    "Incorporating Learnable Membrane Time Constant to Enhance Learning of Spiking Neural Networks",
    arXiv 2007.05785.
    """
    return (alpha / 2) / (1 + xp.square((xp.pi * alpha / 2) * x))


@register("heaviside")
def identity(xp: Any, x: Any) -> Any:
    """1 everywhere: the straight-through estimator."""
    return 1.0


@register("heaviside")
def zero(xp: Any, x: Any) -> Any:
    """0 everywhere."""
    return 0.0
