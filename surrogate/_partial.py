"""One partial derivative: what a formula may return for it, and how it meets ``g``."""

from __future__ import annotations

import enum
import numbers
from typing import Any, NamedTuple

import numpy as np

Array = Any


class Window(NamedTuple):
    """A derivative with two values: ``inside`` where ``mask`` holds, ``outside`` elsewhere."""

    mask: Array
    inside: Array
    outside: Array


def window(mask: Array, inside: Array = 1.0, outside: Array = 0.0) -> Window:
    """A derivative that is ``inside`` where ``mask`` holds and ``outside`` elsewhere.

    With two Python numbers only the mask is kept for backward, one byte per element. The value is
    selected, never multiplied by the mask: an infinite upstream gradient times a closed window is 0.

    Args:
        mask: boolean array.
        inside, outside: Python numbers, or arrays of the inputs' dtype that broadcast with ``mask``.
    """
    return Window(mask, inside, outside)


class Kind(enum.Enum):
    """What must be kept to evaluate a partial derivative later."""

    CONSTANT = "constant"
    MASK = "mask"
    INPUTS = "inputs"


class Partial(NamedTuple):
    """What is known of a partial derivative before any input is."""

    kind: Kind
    inside: float = 0.0
    outside: float = 0.0


def is_number(value: Any) -> bool:
    """Whether it is a Python number: NumPy's scalars are arrays, what elementwise functions make of them."""
    return isinstance(value, numbers.Real) and not isinstance(value, np.generic)


def apply(xp: Any, partial: Any, v: Array) -> Array:
    """``partial * v`` for a tangent or cotangent ``v``: scaled, selected or multiplied."""
    if isinstance(partial, Window):
        return xp.where(partial.mask, _times(xp, partial.inside, v), _times(xp, partial.outside, v))
    if is_number(partial):
        return v if partial == 1 else xp.zeros_like(v) if partial == 0 else float(partial) * v
    return partial * v


def _times(xp: Any, value: Any, v: Array) -> Array:
    return apply(xp, value, v) if is_number(value) else value * v


def as_window(value: Any) -> Any:
    """A partial derivative with a boolean array as the window that it means."""
    is_mask = not isinstance(value, Window) and not is_number(value) and str(value.dtype).endswith("bool")
    return Window(value, 1.0, 0.0) if is_mask else value
