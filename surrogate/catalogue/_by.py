"""Derivatives by a parameter of the functions whose derivatives the formulas are: for learned parameters.

Where a formula is the derivative by x of F(kx), that by k is x/k times the formula. The function itself is
fixed by its value at 0 or, where it is bounded, by its limits: they do not depend on the parameter.
"""

from __future__ import annotations

from typing import Any

from surrogate._partial import window
from surrogate.catalogue._stable import at_least_one, logistic, logistic_slope, normal_density, sech2


def finite(xp: Any, x: Any) -> Any:
    """x, 0 in place of the infinities: where a bump outruns x, 0 * bump(0) is the limit."""
    return xp.where(xp.isinf(x), 0.0, x)


def tanh(xp: Any, x: Any, *, slope: Any) -> Any:
    """Of tanh(kx): x (1 - tanh(kx)^2)."""
    x = finite(xp, x)
    return x * sech2(xp, slope * x)


def half_tanh(xp: Any, x: Any, *, slope: Any) -> Any:
    """Of (tanh(kx) + 1) / 2."""
    return 0.5 * tanh(xp, x, slope=slope)


def logistic_by_slope(xp: Any, x: Any, *, slope: Any) -> Any:
    """Of s(kx): x s(kx) (1 - s(kx))."""
    x = finite(xp, x)
    return x * logistic_slope(xp, slope * x)


def two_logistics(xp: Any, x: Any, *, slope: Any) -> Any:
    """Of 2 s(kx) - 1."""
    return 2 * logistic_by_slope(xp, x, slope=slope)


def arctan(xp: Any, x: Any, *, alpha: Any) -> Any:
    """Of (2/pi) arctan(pi*alpha*x/2): x / (1 + (pi*alpha*x/2)^2)."""
    x = finite(xp, x)
    return x / (1 + xp.square((xp.pi * alpha / 2) * x))


def half_arctan(xp: Any, x: Any, *, alpha: Any) -> Any:
    """Of arctan(pi*alpha*x/2)/pi + 1/2."""
    return 0.5 * arctan(xp, x, alpha=alpha)


def softsign(xp: Any, x: Any, *, alpha: Any) -> Any:
    """Of alpha*x / (1 + alpha|x|): x / (1 + alpha|x|)^2."""
    x = finite(xp, x)
    return x / xp.square(1 + alpha * xp.abs(x))


def half_softsign(xp: Any, x: Any, *, alpha: Any) -> Any:
    """Of (alpha*x / (1 + alpha|x|) + 1) / 2."""
    return 0.5 * softsign(xp, x, alpha=alpha)


def fast_sigmoid(xp: Any, x: Any, *, slope: Any) -> Any:
    """Of x / (1 + k|x|): -sign(x) (|x| / (1 + k|x|))^2, which is -sign(x)/k^2 at infinity."""
    far = xp.isinf(x)
    a = xp.abs(xp.where(far, 0.0, x))
    return -xp.sign(x) * xp.square(xp.where(far, 1 / slope + xp.zeros_like(a), a / (1 + slope * a)))


def swish_sign(xp: Any, x: Any, *, beta: Any) -> Any:
    """Of 2s(bx)(1 + bx(1 - s(bx))) - 1: x/b times the formula."""
    z = xp.abs(beta * x)
    z = xp.where(z > 1000, 1000.0, z)
    e = xp.exp(-z)
    return finite(xp, x) * (2 * e * (2 * (1 + e) - z * (1 - e)) / ((1 + e) * xp.square(1 + e)))


def ede(xp: Any, x: Any, *, t: Any) -> Any:
    """Of k tanh(tx) with k = max(1/t, 1): k x (1 - tanh(tx)^2), less tanh(tx) / t^2 where t < 1."""
    at = finite(xp, x)
    k = at_least_one(xp, 1 / t)
    return k * at * sech2(xp, t * at) - xp.where(t < 1, xp.tanh(t * x) / (t * t), xp.zeros_like(x))


def hardtanh(xp: Any, x: Any, *, width: Any) -> Any:
    """Of clip(x, -width, width): sign(x) where |x| > width, else 0."""
    return window(xp.abs(x) > width, xp.sign(x))


def gaussian(xp: Any, x: Any, *, sigma: Any) -> Any:
    """Of the normal distribution function of x/sigma: -(x/sigma) times the density."""
    far = xp.isinf(x)
    z = xp.where(far, 0.0, x) / sigma
    return -z * normal_density(xp, z, sigma)


def erf(xp: Any, x: Any, *, alpha: Any) -> Any:
    """Of (1 + erf(alpha*x)) / 2: x exp(-alpha^2 x^2) / sqrt(pi)."""
    x = finite(xp, x)
    return x * xp.exp(-xp.square(alpha * x)) / xp.pi**0.5


def laplace(xp: Any, x: Any, *, alpha: Any) -> Any:
    """Of the Laplace distribution function of alpha*x: (x/2) exp(-alpha|x|)."""
    x = finite(xp, x)
    return 0.5 * x * xp.exp(-alpha * xp.abs(x))


def circular(xp: Any, x: Any, *, alpha: Any) -> Any:
    """Of alpha*x / sqrt(x^2 + alpha^2): (x / sqrt(x^2 + alpha^2))^3, of the limits -1 and 1."""
    far = xp.isinf(x)
    z = xp.where(far, 0.0, x) / alpha
    r = xp.where(far, xp.sign(x), z / xp.sqrt(1 + xp.square(z)))
    return r * xp.square(r)


def s2nn_by_alpha(xp: Any, x: Any, *, alpha: Any, beta: Any) -> Any:
    """Of s(ax) for x < 0: x s(ax)(1 - s(ax)); 0 for x >= 0."""
    left = xp.where(x < 0, finite(xp, x), 0.0)
    return left * logistic_slope(xp, alpha * left)


def s2nn_by_beta(xp: Any, x: Any, *, alpha: Any, beta: Any) -> Any:
    """Of 1/2 + beta log(1 + x) for x >= 0: log(1 + x); 0 for x < 0."""
    return xp.log1p(xp.where(x < 0, 0.0, x))


def boxcar_by_width(xp: Any, x: Any, *, width: Any, height: Any) -> Any:
    """Of height * clip(x, -width, width): height * sign(x) where |x| > width, else 0."""
    return window(xp.abs(x) > width, height * xp.sign(x))


def boxcar_by_height(xp: Any, x: Any, *, width: Any, height: Any) -> Any:
    """Of height * clip(x, -width, width): clip(x, -width, width)."""
    return xp.where(xp.abs(x) > width, width * xp.sign(x), x)


def unit_box(xp: Any, x: Any, *, width: Any) -> Any:
    """Of (clip(x/width, -1, 1) + 1) / 2: -x / (2 width^2) where |x| <= width, else 0."""
    return window(xp.abs(x) <= width, x / (-2 * width * width))


def relu_leaky(xp: Any, x: Any, *, leak: Any) -> Any:
    """Of leak * x for x <= 0: x there, 0 for x > 0, as for a PReLU."""
    return xp.where(x > 0, 0.0, x)


def clip_leaky(xp: Any, x: Any, lo: Any, hi: Any, *, leak: Any) -> Any:
    """Of x inside, and leak times the way to the nearer bound outside: that way."""
    inside = xp.logical_and(lo <= x, x <= hi)
    return xp.where(inside, 0.0, xp.where(x < lo, x - lo, x - hi))


def softplus(xp: Any, x: Any, *, slope: Any) -> Any:
    """Of log(1 + exp(kx)) / k: -(|z| s(-|z|) + log(1 + exp(-|z|))) / k^2 with z = kx."""
    a = xp.abs(slope * x)
    near = xp.where(xp.isinf(a), 0.0, a)
    return -(near * logistic(xp, -near) + xp.log1p(xp.exp(-a))) / (slope * slope)
