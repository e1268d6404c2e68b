"""What a gradient looks like in a few numbers: mass, peak and where, half-width, evenness.

They are measured on the reference in float64, with NumPy alone: along the op's first input, the others
held at :attr:`surrogate.Op.held`, at upstream gradient 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from surrogate._curve import derivative
from surrogate._gradient import Gradient

Floats = npt.NDArray[np.float64]
Function = Callable[[Floats], Floats]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_EXPONENTS = np.arange(-12.0, 12.0)
#: Panels that the line is first cut into; narrow around 0, where gradients have their peaks.
_CUTS = np.concatenate([-(2.0 ** _EXPONENTS[::-1]), [0.0], 2.0**_EXPONENTS])
_DEEPEST = 60


@dataclass(frozen=True)
class Measures:
    """A few numbers of a gradient.

    Attributes:
        mass: its integral over the real line; inf if that diverges, as for ``identity``.
        peak: its largest value, or limit.
        peak_at: where; the place nearest to 0 if there are several (in a plateau, to 1/256).
        peak_side: 0 if ``peak`` is the value there, 1 or -1 if it is the limit from above or below.
        half_width: half the width of the interval around the peak on which it is at least half the
            peak; inf if it never falls below, 0 if the peak is 0.
        even: whether g(-x) equals g(x) to the last bit.
    """

    mass: float
    peak: float
    peak_at: float
    peak_side: int
    half_width: float
    even: bool


def measure(gradient: Gradient) -> Measures:
    """Measure a gradient."""
    g = derivative(gradient)
    top = _highest_place(g)
    peak = _at(g, top)
    at, side = _named(g, top)
    return Measures(
        mass=_mass(g),
        peak=peak if side else _at(g, at),
        peak_at=at,
        peak_side=side,
        half_width=_half_width(g, top, peak),
        even=_is_even(g),
    )


def _samples() -> Floats:
    near = np.arange(8 * 256 + 1) / 256  # dyadic: the ties of the roundings are among them
    decimal = np.arange(801) / 100
    return np.unique(np.concatenate([near, decimal, 2.0**_EXPONENTS, np.logspace(-9, 4, 400)]))


def _is_even(g: Function) -> bool:
    x = _samples()
    return bool(np.array_equal(g(x), g(-x), equal_nan=True))


def _highest_place(g: Function) -> float:
    x = _samples()
    x = np.concatenate([np.nextafter(x, -np.inf), x, np.nextafter(x, np.inf)])  # a limit at a jump
    candidates = np.concatenate([x, -x])
    candidates = candidates[np.argsort(np.abs(candidates), kind="stable")]
    best = _highest(g, candidates)
    reach = 1 / 128
    while reach > 1e-9:  # a peak between the samples
        best = _highest(g, np.concatenate([[best], best + np.linspace(-reach, reach, 65)]))
        reach /= 16
    for end in (np.inf, -np.inf):  # rises for ever; rounding alone is less than this
        if _at(g, end) > _at(g, best) + 1e-14 * abs(_at(g, best)):
            best = end
    return best


def _named(g: Function, place: float) -> tuple[float, int]:
    """A place to 8 decimals, and from which side its value is the limit there: 0 if it is the value."""
    near = round(place, 8) + 0.0 if math.isfinite(place) else place
    if _is_close(_at(g, near), _at(g, place)):
        return near, 0
    side = 1 if place > near else -1
    if _is_close(_at(g, np.nextafter(near, side * np.inf)), _at(g, place)):
        return near, side
    return place, 0  # 8 decimals are too few


def _is_close(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-9 * abs(b)


def _at(g: Function, x: float) -> float:
    return float(g(np.array([x]))[0])


def _highest(g: Function, x: Floats) -> float:
    """The first point whose value is the largest, but for rounding."""
    y = g(x)
    top = float(np.nanmax(y))
    return float(x[np.argmax(y >= top - 1e-12 * abs(top))])


def _half_width(g: Function, peak_at: float, peak: float) -> float:
    if peak <= 0:
        return 0.0
    return sum(_fall(_along(g, side, peak_at), peak / 2) for side in (-1.0, 1.0)) / 2


def _fall(g: Function, level: float) -> float:
    """The smallest distance at which ``g`` is below ``level``; inf if it never is."""
    steps = np.concatenate([[0.0], np.logspace(-7, 7, 1500)])
    below = np.flatnonzero(~(g(steps) >= level))
    if not below.size:
        return math.inf
    inside, outside = steps[below[0] - 1], steps[below[0]]
    for _ in range(_DEEPEST):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if _at(g, middle) >= level else (inside, middle)
    return float(inside)


def _mass(g: Function) -> float:
    if any(_diverges(_along(g, side)) for side in (-1.0, 1.0)):
        return math.inf
    edge = np.array([0.0, 1 / _CUTS[-1]])
    return _integral(g, _CUTS) + sum(_integral(_tail(_along(g, side)), edge) for side in (-1.0, 1.0))


def _along(g: Function, side: float, start: float = 0.0) -> Function:
    """``g`` as a function of the distance from ``start``, to the left or to the right."""
    return lambda d: g(start + side * d)


def _tail(g: Function) -> Function:
    """What to integrate from 0 to 1/a in place of ``g`` from a to infinity."""
    return lambda u: g(1 / u) / (u * u)


def _diverges(g: Function) -> bool:
    """Whether ``x g(x)``, averaged over a period, does not fall between two far places."""
    period = np.arange(64) / 64
    near, far = (2.0**k * float(np.mean(np.abs(g(2.0**k + period)))) for k in (15, 30))
    return far > 0.99 * near > 0


def _integral(g: Function, cuts: Floats) -> float:
    """Gauss-Legendre on panels, each halved until halving changes nothing: a jump ends in a tiny one."""
    left, right = cuts[:-1], cuts[1:]
    total, scale = 0.0, 0.0
    for _ in range(_DEEPEST):
        middle = (left + right) / 2
        whole, halves = _panels(g, left, right), _panels(g, left, middle) + _panels(g, middle, right)
        scale = max(scale, float(np.abs(halves).sum()))
        rough = np.abs(whole - halves) > 1e-15 * scale
        total += math.fsum(halves[~rough])
        if not rough.any():
            break
        left, right = (
            np.concatenate([left[rough], middle[rough]]),
            np.concatenate([middle[rough], right[rough]]),
        )
    return total


def _panels(g: Function, left: Floats, right: Floats) -> Floats:
    half = (right - left)[:, None] / 2
    x = (left + right)[:, None] / 2 + half * _NODES
    weighted: Floats = (half * _WEIGHTS * g(x.ravel()).reshape(x.shape)).sum(axis=1)
    return weighted
