"""An op and its gradient along its first input, for drawing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from surrogate import reference
from surrogate._gradient import Gradient

Floats = npt.NDArray[np.float64]


class Curve(NamedTuple):
    """Points along the first input: the op's value, and its derivative by the first input."""

    x: Floats
    forward: Floats
    slope: Floats


def curve(gradient: Gradient, *, reach: float = 3.0, count: int = 1200) -> Curve:
    """Evaluate a gradient on [-reach, reach], at upstream gradient 1.

    The number of points is even, so that neither 0 nor a tie of a rounding is one of them.
    """
    x = np.linspace(-reach, reach, count + count % 2)
    others = gradient.op.held
    forward = reference.forward(gradient.op.name, x, *others)
    return Curve(x, forward, reference.vjp(gradient.op.name, gradient, x, *others)[0])
