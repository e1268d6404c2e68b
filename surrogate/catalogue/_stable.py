"""The building blocks that several formulas share, each accurate in its own tails.

They are written so that nothing overflows, nothing cancels, an even function is exactly even, and the
derivative that a framework takes of them is finite too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surrogate._errors import ParameterError


def sech2(xp: Any, z: Any) -> Any:
    """1 - tanh(z)^2 = 4e / (1 + e)^2 with e = exp(-2|z|), which keeps its digits far out."""
    e = xp.exp(-2 * xp.abs(z))
    return 4 * e / xp.square(1 + e)


def logistic_slope(xp: Any, z: Any) -> Any:
    """sigma(z) * (1 - sigma(z)) = e / (1 + e)^2 with e = exp(-|z|); exp never overflows."""
    e = xp.exp(-xp.abs(z))
    return e / xp.square(1 + e)


def logistic(xp: Any, z: Any) -> Any:
    """sigma(z), with its digits in both tails and the slope 1/4 at 0."""
    e = xp.exp(xp.where(z > 0, -z, z))  # -|z|, but with the derivative of z at 0
    return xp.where(z > 0, 1 / (1 + e), e / (1 + e))


def normal_density(xp: Any, z: Any, scale: float) -> Any:
    """exp(-z^2/2) / (scale * sqrt(2 pi)): the density of a normal whose standardised value is z."""
    return xp.exp(-0.5 * xp.square(z)) * (1 / (scale * (2 * xp.pi) ** 0.5))


def to_nearest(xp: Any, x: Any) -> Any:
    """x - round(x), in [-1/2, 1/2] and exact; 0 at infinity.

    Every large float is an integer, so infinity is taken for one: the value there is the one at the
    largest floats.
    """
    finite = xp.where(xp.isinf(x), 0.0, x)
    return finite - xp.round(finite)


def tanh(xp: Any, a: Any) -> Any:
    """The hyperbolic tangent of a parameter: a Python number, or an array of the backend's."""
    return math.tanh(a) if isinstance(a, int | float) else xp.tanh(a)


def at_least_one(xp: Any, a: Any) -> Any:
    """A parameter, 1 where it is smaller: a Python number, or an array of the backend's."""
    return max(1.0, a) if isinstance(a, int | float) else xp.where(a < 1, 1.0, a)


def require_ordered(owner: str, **bounds: Any) -> None:
    """Check that two parameters, given as ``low=..., high=...``, are not the wrong way round.

    Arrays are compared when the gradient is made, element by element, and not in the backends.

    Raises:
        ParameterError: the first is above the second.
    """
    (low, a), (high, b) = bounds.items()
    if isinstance(a, int | float) and isinstance(b, int | float) and a <= b:
        return  # on every small op's way
    if not all(isinstance(bound, int | float | np.ndarray) for bound in (a, b)):
        return
    a, b = np.broadcast_arrays(a, b)
    wrong = np.argwhere(a > b)
    if len(wrong):
        at = tuple(wrong[0])
        raise ParameterError(
            f"{owner}: {low} must be at most {high}, not {low}={a[at]:g} and {high}={b[at]:g}"
            + (f" at index {tuple(map(int, at))}." if at else ".")
        )
