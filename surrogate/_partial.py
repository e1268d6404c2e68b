"""One partial derivative: what a formula may return for it, and how it meets ``g``."""

from __future__ import annotations

import enum
import math
import numbers
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from surrogate import _numpy
from surrogate._errors import FormulaError, SurrogateError

if TYPE_CHECKING:
    from surrogate._gradient import Gradient

Array = Any

# Generic points: no op is at a tie, no divisor is 0, bounds are ordered.
_PROBE = (
    np.array([-1.75, 0.25, 1.25]),
    np.array([-1.0, -0.5, -0.75]),
    np.array([1.0, 0.5, 0.75]),
)


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


def apply(xp: Any, partial: Any, v: Array) -> Array:
    """``partial * v`` for a tangent or cotangent ``v``: scaled, selected or multiplied."""
    if isinstance(partial, Window):
        return xp.where(partial.mask, _times(xp, partial.inside, v), _times(xp, partial.outside, v))
    if isinstance(partial, numbers.Real):
        return v if partial == 1 else xp.zeros_like(v) if partial == 0 else float(partial) * v
    return partial * v


def probe(gradient: Gradient, evaluate: Callable[..., tuple[Any, ...]]) -> tuple[Partial, ...]:
    """Evaluate a formula once on NumPy arrays, to learn its kinds and refuse a wrong one early.

    Raises:
        FormulaError: it fails there, or returns what is no derivative.
    """
    op = gradient.op
    inputs = _PROBE[: op.arity]
    try:
        with np.errstate(all="ignore"):
            if gradient.upstream:
                result = gradient.formula.function(
                    _numpy, np.array([1.0, -2.0, 0.5]), *inputs[: gradient.formula.takes], **gradient.params
                )
                found = result if type(result) is tuple else (result,)
            else:
                found = evaluate(_numpy, inputs)
    except SurrogateError:
        raise
    except Exception as error:
        raise FormulaError(
            f"{gradient.id} fails on NumPy arrays: {type(error).__name__}: {error}. "
            "A formula is written over xp, the backend's namespace (xp.abs, xp.where, ...)."
        ) from error
    if len(found) > op.arity or (len(found) < op.arity and not gradient.upstream):
        raise FormulaError(
            f"{gradient.id} returns {len(found)} values; {op.name!r} has {op.arity} "
            f"input{'s'[: op.arity > 1]} ({', '.join(op.inputs)})."
        )
    if gradient.upstream:
        for value in found:
            _check_shape(gradient, np.asarray(value))
        return (Partial(Kind.INPUTS),) * op.arity
    return tuple(_classify(gradient, value) for value in found)


def _classify(gradient: Gradient, value: Any) -> Partial:
    if isinstance(value, Window):
        mask = np.asarray(value.mask)
        if mask.dtype != np.bool_:
            raise FormulaError(f"{gradient.id}: the mask of window() must be boolean, not {mask.dtype}.")
        _check_shape(gradient, mask)
        sides = (value.inside, value.outside)
        arrays = [side for side in sides if not isinstance(side, numbers.Real)]
        for array in arrays:
            _check_shape(gradient, np.asarray(array))
        return Partial(Kind.INPUTS) if arrays else Partial(Kind.MASK, *(_finite(gradient, v) for v in sides))
    if isinstance(value, numbers.Real) and not isinstance(value, np.generic):
        return Partial(Kind.CONSTANT, _finite(gradient, value))
    array = np.asarray(value)
    _check_shape(gradient, array)
    if array.dtype == np.bool_:
        return Partial(Kind.MASK, 1.0, 0.0)
    return Partial(Kind.INPUTS)


def _finite(gradient: Gradient, value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise FormulaError(f"{gradient.id} returns {number} as a constant derivative.")
    return number


def _check_shape(gradient: Gradient, array: np.ndarray[Any, Any]) -> None:
    if array.dtype.kind not in "bf":
        raise FormulaError(
            f"{gradient.id} returns {array.dtype} values; a derivative is a Python number, "
            "a boolean array, a float array or window(mask, inside, outside)."
        )
    if array.shape != _PROBE[0].shape:
        raise FormulaError(
            f"{gradient.id} returns shape {array.shape} for inputs of shape {_PROBE[0].shape}: "
            "a gradient is elementwise."
        )


def _times(xp: Any, value: Any, v: Array) -> Array:
    return apply(xp, value, v) if isinstance(value, numbers.Real) else value * v
