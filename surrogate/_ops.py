"""The ops and their forward values, which are NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from surrogate._discrete import DISCRETE
from surrogate._op import Op
from surrogate._registry import registry
from surrogate._samples import Samples


def _clip(x: Any, lo: Any, hi: Any) -> Any:
    return np.minimum(np.maximum(x, lo), hi)


def _relu(x: Any) -> Any:
    return np.maximum(x, 0)


def _relu6(x: Any) -> Any:
    return np.minimum(np.maximum(x, 0), 6)


def _scaled(x: Any, *, decimals: int) -> Any:
    """``round(x, d)`` steps as ``round`` does at ``x * 10**d``; the chain rule's factors cancel."""
    return x * 10.0**decimals if decimals > 0 else x / 10.0**-decimals


def _at_zero(xp: Any, x: Any, values: Any) -> tuple[Any, Any]:
    """heaviside's own partial derivatives: the value at 0 gets ``g`` where ``x`` is 0."""
    return 0.0, x == 0


_DIVISORS = Samples(held=(1.0,), operands=((3.0,), (-3.0,), (0.5,), (-0.25,), (0.0,)))
_PAIRS = Samples(
    held=(0.0,),
    operands=((0.0,), (-1.0,), (2.5,), (np.inf,), (np.nan,)),
    shaped=((0.5, -0.25, 1.5, -3.0, 0.5, 3.0),),
)
_BOUNDS = Samples(
    held=(-1.0, 1.0),
    operands=((-1.0, 1.0), (0.0, 6.0), (-0.5, 2.5)),
    shaped=((-1.0, -0.5, -2.0, -1.5, -0.25, -1.25), (1.0, 0.5, 2.0, 1.5, 0.25, 1.25)),
    corners=(-1.0, 1.0, 6.0, -0.5, 2.5),
)

OPS = (
    Op("sign", ("x",), np.sign, "hardtanh", doc="-1, 0 or 1 by the sign of x."),
    Op(
        "round",
        ("x",),
        np.round,
        "identity",
        ("decimals",),
        doc="The nearest integer, half to even.",
        at=_scaled,
    ),
    Op("floor", ("x",), np.floor, "identity", doc="The largest integer not above x."),
    Op("ceil", ("x",), np.ceil, "identity", doc="The smallest integer not below x."),
    Op("trunc", ("x",), np.trunc, "identity", doc="The nearest integer towards zero."),
    Op(
        "mod",
        ("x", "y"),
        np.mod,
        "exact",
        doc="x - y*floor(x/y): the remainder with the divisor's sign.",
        samples=_DIVISORS,
    ),
    Op(
        "fmod",
        ("x", "y"),
        np.fmod,
        "exact",
        doc="x - y*trunc(x/y): the remainder with the dividend's sign.",
        samples=_DIVISORS,
    ),
    Op("floor_divide", ("x", "y"), np.floor_divide, "identity", doc="floor(x/y).", samples=_DIVISORS),
    Op(
        "heaviside",
        ("x", "values"),
        np.heaviside,
        "arctan",
        partials=_at_zero,
        reads=("x",),
        doc="0 below zero, 1 above, and the second operand at zero.",
        samples=Samples(held=(0.5,), operands=((0.0,), (0.5,), (1.0,))),
    ),
    Op("clip", ("x", "lo", "hi"), _clip, "closed", doc="x limited to [lo, hi].", samples=_BOUNDS),
    Op("relu", ("x",), _relu, doc="max(x, 0)."),
    Op("relu6", ("x",), _relu6, doc="min(max(x, 0), 6).", samples=Samples(corners=(6.0,), reach=8.25)),
    Op("abs", ("x",), np.abs, doc="The magnitude of x."),
    Op("maximum", ("x", "y"), np.maximum, doc="The larger of x and y.", samples=_PAIRS),
    Op("minimum", ("x", "y"), np.minimum, doc="The smaller of x and y.", samples=_PAIRS),
    *DISCRETE,
)

for _op in OPS:
    registry.add_op(_op)
