"""Gradients for ``clip``, ``relu``, ``relu6`` and ``abs``: windows, ties and upstream rules.

Windows are closed at NaN: nothing passes. Where lo > hi, clip's value is hi, so hi gets the gradient.
"""

from __future__ import annotations

from typing import Any

from surrogate._parameters import NonNegative, Positive
from surrogate._partial import window
from surrogate._registry import register
from surrogate.catalogue import _by
from surrogate.catalogue._stable import logistic


def _outside(below: Any, above: Any, room: Any, crossed: Any) -> tuple[Any, Any]:
    """Which bound is the value; where there is no room between them, hi."""
    if room is True:  # Python numbers in order, the usual case: nothing to compute
        return below, above
    return below & room, above | crossed


@register("clip", name="closed")
def clip_closed(xp: Any, x: Any, lo: Any, hi: Any) -> Any:
    """1[lo <= x <= hi] to x, 1[x < lo] to lo, 1[x > hi] to hi: ties go to x, and the three add up to g."""
    return (lo <= x) & (x <= hi), *_outside(x < lo, x > hi, lo <= hi, lo > hi)


@register("clip", name="open")
def clip_open(xp: Any, x: Any, lo: Any, hi: Any) -> Any:
    """1[lo < x < hi] to x, 1[x <= lo] to lo, 1[x >= hi] to hi: ties go to the bounds, all add up to g."""
    return (lo < x) & (x < hi), *_outside(x <= lo, x >= hi, lo < hi, lo >= hi)


@register("clip", name="half")
def clip_half(xp: Any, x: Any, lo: Any, hi: Any) -> Any:
    """1 inside, 1/2 at the ties to x and 1/2 to the bound, 1 to the bound outside: all add up to g."""
    inside = (lo <= x) & (x <= hi)
    shared = xp.where(inside & ((x == lo) | (x == hi)), 0.5, xp.ones_like(x))
    below, above = _outside(x <= lo, x >= hi, lo < hi, lo >= hi)
    return window(inside, shared), window(below, shared), window(above, shared)


@register("clip", name="pact")
def clip_pact(xp: Any, x: Any, lo: Any, hi: Any) -> Any:
    """1[lo <= x < hi] to x, 1[x < lo] to lo, 1[x >= hi] to hi: a tie with hi goes to hi, all add up to g.

    With lo = 0 and hi a learned bound: Choi, Wang, Venkataramani, Chuang, Srinivasan, Gopalakrishnan 2018,
    "PACT: Parameterized Clipping Activation for Quantized Neural Networks", arXiv 1805.06085.
    """
    return (lo <= x) & (x < hi), *_outside(x < lo, x >= hi, lo < hi, lo >= hi)


@register("clip", name="identity")
def clip_identity(xp: Any, x: Any) -> Any:
    """1 everywhere to x, 0 to the bounds: the straight-through estimator."""
    return 1.0


@register("clip", name="towards", upstream=True)
def clip_towards(xp: Any, g: Any, x: Any, lo: Any, hi: Any) -> Any:
    """g inside, edges included, and outside where the step -g points back inside; else 0. 0 to the bounds.

    That is where x < lo and g < 0, or x > hi and g > 0. 0 at NaN. There is no forward mode. Known from
    the TensorFlow Compression library as "identity if towards".
    """
    inside = (lo <= x) & (x <= hi)
    back = ((x < lo) & (g < 0)) | ((x > hi) & (g > 0))
    return xp.where(inside | back, g, 0.0)


@register("clip", name="leaky", by={"leak": _by.clip_leaky})
def clip_leaky(xp: Any, x: Any, lo: Any, hi: Any, *, leak: NonNegative = 0.01) -> Any:
    """1 inside, edges included; leak outside and at NaN. 0 to the bounds."""
    return window((lo <= x) & (x <= hi), 1.0, leak), 0.0, 0.0


@register("relu", name="guided", upstream=True)
def relu_guided(xp: Any, g: Any, x: Any) -> Any:
    """g 1[x > 0] 1[g > 0]: guided backpropagation. 0 at x = 0 and at NaN. There is no forward mode.

    Springenberg, Dosovitskiy, Brox, Riedmiller 2014, "Striving for Simplicity: The All Convolutional
    Net", arXiv 1412.6806.
    """
    return xp.where((x > 0) & (g > 0), g, 0.0)


@register("relu6", name="guided", upstream=True)
def relu6_guided(xp: Any, g: Any, x: Any) -> Any:
    """g 1[0 < x < 6] 1[g > 0]: guided backpropagation. 0 at the ties and at NaN. There is no forward mode.

    Springenberg, Dosovitskiy, Brox, Riedmiller 2014, arXiv 1412.6806.
    """
    return xp.where((x > 0) & (x < 6) & (g > 0), g, 0.0)


@register("relu", name="deconvnet", upstream=True)
@register("relu6", name="deconvnet", upstream=True)
def deconvnet(xp: Any, g: Any) -> Any:
    """g 1[g > 0], whatever x: the backward pass of a deconvolutional network. There is no forward mode.

    Zeiler, Fergus 2014, "Visualizing and Understanding Convolutional Networks", arXiv 1311.2901.
    """
    return xp.where(g > 0, g, 0.0)


@register("relu", name="identity")
@register("relu6", name="identity")
def identity(xp: Any, x: Any) -> Any:
    """1 everywhere: the straight-through estimator."""
    return 1.0


@register("relu", name="leaky", by={"leak": _by.relu_leaky})
def relu_leaky(xp: Any, x: Any, *, leak: NonNegative = 0.01) -> Any:
    """1 for x > 0; leak for x <= 0 and at NaN: the gradient of the leaky rectifier."""
    return window(x > 0, 1.0, leak)


@register("relu", name="sigmoid", by={"slope": _by.softplus})
def relu_sigmoid(xp: Any, x: Any, *, slope: Positive = 4.0) -> Any:
    """s(kx) with k = slope and s the logistic function: the derivative of the softplus log(1 + exp(kx))/k.

    1/2 at 0, 0 and 1 at the infinities, NaN at NaN. Its own derivative is ``heaviside``'s ``sigmoid``.
    """
    return logistic(xp, slope * x)


@register("abs", name="sign0")
def abs_sign0(xp: Any, x: Any) -> Any:
    """sign(x), 0 at 0, NaN at NaN. Frameworks differ at 0: JAX's own gradient is 1 there."""
    return window(xp.logical_not(x == 0), xp.where(xp.isnan(x), x, xp.sign(x)))
