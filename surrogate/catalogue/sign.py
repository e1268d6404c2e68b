"""Gradients for ``sign``, whose own is 0.

All but the windows propagate NaN; a window is 0 there. At infinity each has its limit, 0 for a bump.
"""

from __future__ import annotations

from typing import Any

from surrogate._parameters import AboveOne, Positive
from surrogate._partial import window
from surrogate._registry import register
from surrogate.catalogue import _by
from surrogate.catalogue._stable import at_least_one, logistic_slope, require_ordered, sech2


@register("sign", interval=lambda width: (-width, width), by={"width": _by.hardtanh})
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


@register("sign", by={"slope": _by.tanh})
def tanh(xp: Any, x: Any, *, slope: Positive = 1.0) -> Any:
    """k(1 - tanh(kx)^2) with k = slope: the derivative of tanh(kx). Even, peak k, mass 2.

    Gong, Liu, Jiang, Li, Hu, Lin, Yu, Yan 2019, "Differentiable Soft Quantization", arXiv 1908.05033.
    """
    return slope * sech2(xp, slope * x)


@register("sign", by={"slope": _by.two_logistics})
def sigmoid(xp: Any, x: Any, *, slope: Positive = 4.0) -> Any:
    """2k s(kx)(1 - s(kx)) with k = slope and s the logistic function: the derivative of 2s(kx) - 1.

    Even, peak k/2, mass 2. It is ``tanh`` with half the slope.
    """
    return 2 * slope * logistic_slope(xp, slope * x)


@register("sign", by={"alpha": _by.arctan})
def arctan(xp: Any, x: Any, *, alpha: Positive = 2.0) -> Any:
    """alpha / (1 + (pi*alpha*x/2)^2): the derivative of (2/pi) arctan(pi*alpha*x/2).

    Even, peak alpha, mass 2. For spiking neurons: Fang, Yu, Chen, Masquelier, Huang, Tian 2021,
    arXiv 2007.05785.
    """
    return alpha / (1 + xp.square((xp.pi * alpha / 2) * x))


@register("sign", by={"alpha": _by.softsign})
def softsign(xp: Any, x: Any, *, alpha: Positive = 2.0) -> Any:
    """alpha / (1 + alpha|x|)^2: the derivative of alpha*x / (1 + alpha|x|).

    Even with a corner at 0, peak alpha, mass 2. For spiking neurons: Neftci, Mostafa, Zenke 2019,
    arXiv 1901.09948.
    """
    return alpha / xp.square(1 + alpha * xp.abs(x))


@register("sign")
def approx_sign(xp: Any, x: Any) -> Any:
    """(2 - 2|x|) 1[|x| <= 1]: the derivative of a piecewise quadratic sign.

    A triangle: even with a corner at 0, peak 2, mass 2, 0 from the edges on. Liu, Wu, Luo, Yang, Liu,
    Cheng 2018, "Bi-Real Net", arXiv 1808.00278.
    """
    a = xp.abs(x)
    outside = a > 1
    within = xp.where(outside, 1.0, a)  # finite also where it is not selected
    return window(xp.logical_not(outside), 2 - 2 * within)  # open at NaN, which the formula propagates


@register("sign", by={"beta": _by.swish_sign})
def swish_sign(xp: Any, x: Any, *, beta: Positive = 5.0) -> Any:
    """b(2 - bx tanh(bx/2)) / (1 + cosh(bx)) with b = beta: the derivative of the SignSwish function.

    That function is 2s(bx)(1 + bx(1 - s(bx))) - 1 with s the logistic function. Even, peak b at 0,
    mass 2; below 0 for b|x| > 2.3994. Darabi, Belbahri, Courbariaux, Partovi Nia 2018, "BNN+: Improved
    Binary Network Training", arXiv 1812.11800.
    """
    z = xp.abs(beta * x)
    z = xp.where(z > 1000, 1000.0, z)  # exp(-1000) is 0 in every dtype, and 0 * infinity would be NaN
    e = xp.exp(-z)
    return 2 * beta * e * (2 * (1 + e) - z * (1 - e)) / ((1 + e) * xp.square(1 + e))


@register("sign")
def reste(xp: Any, x: Any, *, o: AboveOne = 3.0, t: Positive = 1.5, m: Positive = 0.1) -> Any:
    """(1/o)|x|^((1-o)/o) for m < |x| <= t, m^(1/o)/m for |x| <= m, 0 beyond t.

    The derivative of the power function sign(x)|x|^(1/o), made finite around 0 by the slope of the
    chord to m. Even, peak at |x| <= m, mass 2 t^(1/o); the edge t is inside, the edge m belongs to the
    flat part. As o goes to 1 it becomes ``hardtanh(width=t)``; m must not exceed t. Wu, Zheng, Liu,
    Zheng 2023, "Estimator Meets Equilibrium Perspective: A Rectified Straight Through Estimator for
    Binary Neural Networks Training", arXiv 2308.06689.
    """
    require_ordered("sign:reste", m=m, t=t)
    a = xp.abs(x)
    flat = a <= m
    power = xp.pow(xp.where(flat, m, a), (1 - o) / o) / o
    return window(xp.logical_not(a > t), xp.where(flat, m ** (1 / o) / m, power))


@register("sign", by={"t": _by.ede})
def ede(xp: Any, x: Any, *, t: Positive = 1.0) -> Any:
    """k t (1 - tanh(tx)^2) with k = max(1/t, 1): the error decay estimator at one stage of training.

    The derivative of k tanh(tx). Even, peak max(1, t), mass 2k. The method raises t from 0.1 to 10
    over the training. Qin, Gong, Liu, Shen, Wei, Yu, Song 2020, "Forward and Backward Information
    Retention for Accurate Binary Neural Networks" (IR-Net), arXiv 1909.10788.
    """
    return at_least_one(xp, t) * sech2(xp, t * x)
