"""Gradients for ``round``, ``floor``, ``ceil`` and ``trunc``, whose own is 0 or missing.

``round(x, decimals)`` is evaluated at x*10^decimals; the chain rule's factors cancel.

The periodic ones have no limit at infinity. Every large float is an integer, so infinity is taken for
one: the value there is the one at the largest floats, as in NumPy, where round(inf) is inf.
"""

from __future__ import annotations

from typing import Any

from surrogate._parameters import NonNegative, Positive
from surrogate._partial import window
from surrogate._registry import register
from surrogate.catalogue._stable import require_ordered, sech2, tanh, to_nearest

ROUNDINGS = ("round", "floor", "ceil", "trunc")


def identity(xp: Any, x: Any) -> Any:
    """1 everywhere: the straight-through estimator.

    Bengio, Léonard, Courville 2013, arXiv 1308.3432.
    """
    return 1.0


def zero(xp: Any, x: Any) -> Any:
    """0 everywhere: what frameworks do, but the same in all of them."""
    return 0.0


def clipped(xp: Any, x: Any, *, lo: float, hi: float) -> Any:
    """1[lo <= x <= hi]: straight through inside the range of the quantiser, edges included.

    0 outside and at NaN. Both bounds must be given, lo <= hi. The mask is on x, the value before
    rounding (with ``decimals=d``, on x*10^d). Quantisers that mask on the rounded code pass
    half a step more on each side: they are lo - 1/2 and hi + 1/2 here.
    """
    require_ordered("clipped", lo=lo, hi=hi)
    return xp.logical_and(lo <= x, x <= hi)


for _op in ROUNDINGS:
    register(_op)(identity)
    register(_op)(zero)
    register(_op, interval=lambda lo, hi: (lo, hi))(clipped)


@register("round", name="sine")
def sine_at_halves(xp: Any, x: Any) -> Any:
    """1 - cos(2 pi x): the derivative of x - sin(2 pi x)/(2 pi).

    Even, period 1, mean 1; peak 2 where round jumps, at the halves; 0 at the integers and at infinity;
    NaN at NaN. Evaluated as 2 sin(pi r)^2 with r = x - round(x), which is exact.
    """
    return 2 * xp.square(xp.sin(xp.pi * to_nearest(xp, x)))


@register("floor", name="sine")
@register("ceil", name="sine")
def sine_at_integers(xp: Any, x: Any) -> Any:
    """1 + cos(2 pi x): the derivative of x + sin(2 pi x)/(2 pi).

    Even, period 1, mean 1; peak 2 where the op jumps, at the integers, and at infinity; 0 at the halves;
    NaN at NaN. Evaluated as 2 sin(pi (1/2 - |r|))^2 with r = x - round(x), which is exact.
    """
    return 2 * xp.square(xp.sin(xp.pi * (0.5 - xp.abs(to_nearest(xp, x)))))


@register("trunc", name="sine")
def sine_outside_half(xp: Any, x: Any) -> Any:
    """1 + cos(2 pi x) for |x| >= 1/2, 0 for |x| < 1/2, where trunc does not jump.

    Even; peak 2 where trunc jumps, at the integers but 0, and at infinity; NaN at NaN. It is continuous:
    0 at 1/2 from both sides.
    """
    return window(xp.logical_not(xp.abs(x) < 0.5), sine_at_integers(xp, x))


def _soft_step(xp: Any, r: Any, alpha: Any) -> Any:
    return alpha / (2 * tanh(xp, alpha / 2)) * sech2(xp, alpha * r)


@register("round", name="soft_round")
def soft_round_at_halves(xp: Any, x: Any, *, alpha: Positive = 4.0) -> Any:
    """a(1 - tanh(a r)^2) / (2 tanh(a/2)) with r = x - floor(x) - 1/2 and a = alpha.

    The derivative of the soft rounding floor(x) + 1/2 + tanh(a r) / (2 tanh(a/2)). Even, period 1,
    mean 1, peak where round jumps, at the halves; smallest, with a corner, at the integers, and the
    same at infinity; NaN at NaN. Agustsson, Theis 2020, "Universally Quantized Neural Compression",
    arXiv 2006.09952.
    """
    return _soft_step(xp, 0.5 - xp.abs(to_nearest(xp, x)), alpha)


@register("floor", name="soft_round")
@register("ceil", name="soft_round")
@register("trunc", name="soft_round")
def soft_round_at_integers(xp: Any, x: Any, *, alpha: Positive = 4.0) -> Any:
    """a(1 - tanh(a r)^2) / (2 tanh(a/2)) with r = x - round(x) and a = alpha.

    Soft rounding shifted by 1/2, so that the peak is at the integers, where the op jumps (for trunc
    also at 0, where it does not), and at infinity. Even, period 1, mean 1; smallest, with a corner, at
    the halves; NaN at NaN. Agustsson, Theis 2020, arXiv 2006.09952.
    """
    return _soft_step(xp, to_nearest(xp, x), alpha)


@register("round", name="cubic")
def cubic_at_halves(xp: Any, x: Any) -> Any:
    """3 (x - round(x))^2: the derivative of round(x) + (x - round(x))^3.

    Even, period 1, mean 1/4; 3/4 where round jumps, at the halves; 0 at the integers and at infinity; NaN at
    NaN. Shin, Song 2017, "JPEG-resistant Adversarial Images", NeurIPS Workshop on Machine Learning and
    Computer Security.
    """
    return 3 * xp.square(to_nearest(xp, x))


@register("floor", name="cubic")
def cubic_at_integers(xp: Any, x: Any) -> Any:
    """3 (x - 1/2 - floor(x))^2: that of ``round`` at x - 1/2.

    Even, period 1, mean 1/4; 3/4 where floor jumps, at the integers, and at infinity; 0 at the halves; NaN at
    NaN. Reich, Debnath, Patel, Chakradhar 2024, "Differentiable JPEG: The Devil is in the Details",
    arXiv 2309.06978.
    """
    return 3 * xp.square(0.5 - xp.abs(to_nearest(xp, x)))


def _ewgs(xp: Any, g: Any, x: Any, forward: Any, delta: float) -> Any:
    finite = xp.where(xp.isinf(x), 0.0, x)
    return g * (1 + delta * xp.sign(g) * (finite - forward(finite)))


@register("round", name="ewgs", upstream=True)
def ewgs_round(xp: Any, g: Any, x: Any, *, delta: NonNegative = 0.02) -> Any:
    """g (1 + delta sgn(g) (x - round(x))): element-wise gradient scaling.

    Scales g up where the step -g moves x towards its rounded value, down where it moves x away. g at
    infinity, where x - round(x) counts as 0; NaN at NaN. There is no forward mode. Lee, Kim, Ham 2021,
    "Network Quantization with Element-wise Gradient Scaling", arXiv 2104.00903.
    """
    return _ewgs(xp, g, x, xp.round, delta)


@register("floor", name="ewgs", upstream=True)
def ewgs_floor(xp: Any, g: Any, x: Any, *, delta: NonNegative = 0.02) -> Any:
    """g (1 + delta sgn(g) (x - floor(x))): element-wise gradient scaling.

    As ``ewgs`` for round. Lee, Kim, Ham 2021, arXiv 2104.00903.
    """
    return _ewgs(xp, g, x, xp.floor, delta)


@register("ceil", name="ewgs", upstream=True)
def ewgs_ceil(xp: Any, g: Any, x: Any, *, delta: NonNegative = 0.02) -> Any:
    """g (1 + delta sgn(g) (x - ceil(x))): element-wise gradient scaling.

    As ``ewgs`` for round. Lee, Kim, Ham 2021, arXiv 2104.00903.
    """
    return _ewgs(xp, g, x, xp.ceil, delta)


@register("trunc", name="ewgs", upstream=True)
def ewgs_trunc(xp: Any, g: Any, x: Any, *, delta: NonNegative = 0.02) -> Any:
    """g (1 + delta sgn(g) (x - trunc(x))): element-wise gradient scaling.

    As ``ewgs`` for round. Lee, Kim, Ham 2021, arXiv 2104.00903.
    """
    return _ewgs(xp, g, x, xp.trunc, delta)
