"""Gradients for ``heaviside``, whose own is 0, missing, or an error: smooth bumps.

Each is the derivative by the first operand. The second operand, the value at 0, gets the upstream
gradient where x = 0 and 0 elsewhere, whatever the gradient.

All propagate NaN. At infinity each has its limit, 0. Windows and other shapes with edges are in
``spiking_windows``.
"""

from __future__ import annotations

from typing import Any

from surrogate._parameters import AboveOne, NonNegative, Positive
from surrogate._registry import register
from surrogate.catalogue import _by
from surrogate.catalogue._stable import logistic_slope, normal_density, sech2


@register("heaviside", by={"alpha": _by.half_arctan})
def arctan(xp: Any, x: Any, *, alpha: Positive = 2.0) -> Any:
    """(alpha/2) / (1 + (pi*alpha*x/2)^2): the derivative of arctan(pi*alpha*x/2)/pi + 1/2.

    Even, with peak alpha/2 at 0 and mass 1. Fang, Yu, Chen, Masquelier, Huang, Tian 2021,
    "Incorporating Learnable Membrane Time Constant to Enhance Learning of Spiking Neural Networks",
    arXiv 2007.05785.
    """
    return (alpha / 2) / (1 + xp.square((xp.pi * alpha / 2) * x))


@register("heaviside", by={"slope": _by.logistic_by_slope})
def sigmoid(xp: Any, x: Any, *, slope: Positive = 4.0) -> Any:
    """k s(kx)(1 - s(kx)) with k = slope and s the logistic function: the derivative of s(kx).

    Even, peak k/4, mass 1. It never overflows: at slope 25 and x = -5 it is 0 in float32.
    Zenke, Vogels 2021, "The Remarkable Robustness of Surrogate Gradient Learning for Instilling Complex
    Function in Spiking Neural Networks", Neural Computation 33(4).
    """
    return slope * logistic_slope(xp, slope * x)


@register("heaviside", by={"slope": _by.fast_sigmoid})
def fast_sigmoid(xp: Any, x: Any, *, slope: Positive = 25.0) -> Any:
    """1 / (1 + k|x|)^2 with k = slope: SuperSpike's derivative of the fast sigmoid, of peak 1.

    Even with a corner at 0, mass 2/k. Zenke, Ganguli 2018, "SuperSpike: Supervised Learning in
    Multilayer Spiking Neural Networks", arXiv 1705.11146.
    """
    return 1 / xp.square(1 + slope * xp.abs(x))


@register("heaviside", by={"alpha": _by.half_softsign})
def softsign(xp: Any, x: Any, *, alpha: Positive = 2.0) -> Any:
    """(alpha/2) / (1 + alpha|x|)^2: the derivative of (alpha*x / (1 + alpha|x|) + 1) / 2.

    Even with a corner at 0, peak alpha/2, mass 1. Neftci, Mostafa, Zenke 2019, "Surrogate Gradient
    Learning in Spiking Neural Networks", arXiv 1901.09948.
    """
    return (alpha / 2) / xp.square(1 + alpha * xp.abs(x))


@register("heaviside", by={"slope": _by.half_tanh})
def tanh(xp: Any, x: Any, *, slope: Positive = 1.0) -> Any:
    """(k/2)(1 - tanh(kx)^2) with k = slope: the derivative of (tanh(kx) + 1) / 2.

    Even, peak k/2, mass 1. It is ``sigmoid`` with twice the slope.
    """
    return (slope / 2) * sech2(xp, slope * x)


@register("heaviside", by={"sigma": _by.gaussian})
def gaussian(xp: Any, x: Any, *, sigma: Positive = 0.5) -> Any:
    """exp(-x^2 / (2 sigma^2)) / (sigma sqrt(2 pi)): a normal density.

    Even, peak 0.3989/sigma, mass 1. Yin, Corradi, Bohté 2020, "Effective and Efficient Computation with
    Multiple-timescale Spiking Recurrent Neural Networks", arXiv 2005.11633.
    """
    return normal_density(xp, x / sigma, sigma)


@register("heaviside", by={"alpha": _by.erf})
def erf(xp: Any, x: Any, *, alpha: Positive = 2.0) -> Any:
    """(alpha/sqrt(pi)) exp(-alpha^2 x^2): the derivative of (1 + erf(alpha*x)) / 2.

    Even, peak 0.5642*alpha, mass 1. It is ``gaussian`` with sigma = 1/(alpha sqrt 2). Esser, Merolla,
    Arthur, Cassidy et al. 2015, and Wu, Deng, Li, Zhu, Shi 2018, "Spatio-Temporal Backpropagation for
    Training High-performance Spiking Neural Networks", arXiv 1706.02609.
    """
    return (alpha / xp.pi**0.5) * xp.exp(-xp.square(alpha * x))


@register("heaviside")
def multi_gaussian(xp: Any, x: Any, *, h: NonNegative = 0.15, sigma: Positive = 0.5) -> Any:
    """(1+h) N(x; 0, s) - h N(x; s, 6s) - h N(x; -s, 6s) with s = sigma and N the normal density.

    Even, with a wide negative lobe on each side; mass 1 - h. Yin, Corradi, Bohté 2021, "Accurate and
    Efficient Time-domain Classification with Adaptive Spiking Recurrent Neural Networks",
    arXiv 2103.12593.
    """
    wide = 6 * sigma
    lobes = normal_density(xp, (x - sigma) / wide, wide) + normal_density(xp, (x + sigma) / wide, wide)
    return (1 + h) * normal_density(xp, x / sigma, sigma) - h * lobes


@register("heaviside", by={"alpha": _by.laplace})
def laplace(xp: Any, x: Any, *, alpha: Positive = 1.0) -> Any:
    """(alpha/2) exp(-alpha|x|): the density of a Laplace distribution.

    Even with a corner at 0, peak alpha/2, mass 1. Shrestha, Orchard 2018, "SLAYER: Spike Layer Error
    Reassignment in Time", arXiv 1810.08646.
    """
    return (alpha / 2) * xp.exp(-alpha * xp.abs(x))


@register("heaviside")
def q_pseudo_spike(xp: Any, x: Any, *, alpha: AboveOne = 2.0) -> Any:
    """(1 + 2|x|/(alpha-1))^(-alpha): a bump of peak 1 whose tail has the exponent alpha.

    Even with a corner at 0, mass 1. Herranz-Celotti, Rouat 2022, "Surrogate Gradients Design",
    arXiv 2202.00282.
    """
    return xp.pow(1 + (2 / (alpha - 1)) * xp.abs(x), -alpha)


@register("heaviside", by={"alpha": _by.circular})
def circular(xp: Any, x: Any, *, alpha: Positive = 1.0) -> Any:
    """alpha^3 / (x^2 + alpha^2)^(3/2): the derivative of alpha*x / sqrt(x^2 + alpha^2), of peak 1.

    Even, mass 2*alpha. Known from the norse library as ``circ``.
    """
    spread = 1 + xp.square(x / alpha)
    return 1 / (spread * xp.sqrt(spread))


@register("heaviside", by={"alpha": _by.s2nn_by_alpha, "beta": _by.s2nn_by_beta})
def s2nn(xp: Any, x: Any, *, alpha: Positive = 4.0, beta: Positive = 1.0) -> Any:
    """a s(ax)(1 - s(ax)) for x < 0, beta/(x + 1) for x >= 0, with a = alpha and s the logistic function.

    Not even: the right side falls off slowly, and its mass is infinite. At 0 it has the right side's
    value, beta; the two sides meet when beta = alpha/4. Suetake, Ikegawa, Saiin, Sawada 2022, "S^2NN: Time
    Step Reduction of Spiking Surrogate Gradients for Training Energy Efficient Single-Step Neural
    Networks", arXiv 2201.10879.
    """
    left = x < 0
    right = beta / (xp.where(left, 0.0, x) + 1)
    return xp.where(left, alpha * logistic_slope(xp, alpha * x), right)
