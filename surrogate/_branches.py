"""A function of one variable cut at its jumps, so that it can be drawn without false verticals."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Function = Callable[[Floats], Floats]


class Jump(NamedTuple):
    """A place where the value changes at once: the limit from the left, the value, that from the right."""

    x: float
    left: float
    at: float
    right: float


class Branches(NamedTuple):
    """Points to draw, with NaN where the line breaks, and the jumps there."""

    x: Floats
    y: Floats
    jumps: tuple[Jump, ...]


def branches(f: Function, reach: float, *, count: int = 1200) -> Branches:
    """Sample ``f`` on [-reach, reach] and find its jumps to the last bit."""
    x = np.linspace(-reach, reach, count + count % 2)  # an even number: neither 0 nor a tie is a point
    x = np.union1d(x, np.arange(np.floor(-reach), reach + 0.5, 0.5))  # corners and extrema that are
    x = x[np.abs(x) <= reach]
    y = f(x)
    step = 0.02 * max(float(np.ptp(y[np.isfinite(y)])), 1e-300)
    found = [_locate(f, x[i], x[i + 1]) for i in np.flatnonzero(np.abs(np.diff(y)) > step)]
    jumps = tuple(dict.fromkeys(jump for jump in found if jump is not None))
    for jump in jumps:
        keep = x != jump.x
        x, y = x[keep], y[keep]
    places = [j.x for j in jumps]
    before, after = np.nextafter(places, -np.inf), np.nextafter(places, np.inf)
    x = np.concatenate([x, before, places, after])
    y = np.concatenate([y, [j.left for j in jumps], np.full(len(jumps), np.nan), [j.right for j in jumps]])
    order = np.argsort(x, kind="stable")
    return Branches(x[order], y[order], jumps)


def _locate(f: Function, a: float, b: float) -> Jump | None:
    """Halve towards the larger change; a jump if it is still there between neighbouring floats."""
    low, high = (float(v) for v in f(np.array([a, b])))
    size = abs(high - low)
    while np.nextafter(a, b) < b:
        middle = _middle(float(a), float(b))
        value = float(f(np.array([middle]))[0])
        if abs(value - low) >= abs(high - value):
            b, high = middle, value
        else:
            a, low = middle, value
    if abs(high - low) < size / 4:
        return None
    edge = min(float(a), float(b), key=lambda v: len(repr(v)))  # the rounder neighbour is the edge meant
    left, at, right = f(np.array([np.nextafter(edge, -np.inf), edge, np.nextafter(edge, np.inf)]))
    return Jump(edge, float(left), float(at), float(right))


def _middle(a: float, b: float) -> float:
    """Halfway; around 0 by magnitude, or halving would creep through the subnormals."""
    if a < 0 < b or (min(abs(a), abs(b)) == 0.0 and max(abs(a), abs(b)) > 1e-300):
        return 0.0 if a < 0 < b else (a + b) * 1e-20
    return a + (b - a) / 2
