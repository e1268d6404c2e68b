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
from surrogate._parameters import as_float

if TYPE_CHECKING:
    from surrogate._gradient import Gradient

Array = Any


def _constant(*values: float) -> np.ndarray[Any, Any]:
    array = np.array(values)
    array.flags.writeable = False  # a formula that changes its inputs in place is refused
    return array


# Generic points: no op is at a tie, no divisor is 0, bounds are ordered.
_PROBE = (
    _constant(-1.75, 0.25, 1.25),
    _constant(-1.0, -0.5, -0.75),
    _constant(1.0, 0.5, 0.75),
)
_UPSTREAM = _constant(1.0, -2.0, 0.5)


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
    if _is_number(partial):
        return v if partial == 1 else xp.zeros_like(v) if partial == 0 else float(partial) * v
    return partial * v


def probe(gradient: Gradient, evaluate: Callable[..., tuple[Any, ...]]) -> tuple[Partial, ...]:
    """Evaluate a formula on NumPy arrays, to learn its kinds and refuse a wrong one early.

    Raises:
        FormulaError: it fails there, or returns what is no derivative.
    """
    op = gradient.op
    found = _evaluate(gradient, evaluate, slice(None))
    if len(found) > op.arity or (len(found) < op.arity and not gradient.upstream):
        raise FormulaError(
            f"{gradient.id} returns {len(found)} values; {op.name!r} has {op.arity} "
            f"input{'s'[: op.arity > 1]} ({', '.join(op.inputs)})."
        )
    if gradient.upstream:
        for value in found:
            _check(gradient, value, "f")
        partials = (Partial(Kind.INPUTS),) * op.arity
    else:
        partials = tuple(_classify(gradient, value) for value in found)
    for end in (slice(1), slice(-1, None)):
        _refuse_mixing(gradient, found, _evaluate(gradient, evaluate, end), end)
    return partials


def _evaluate(gradient: Gradient, evaluate: Callable[..., tuple[Any, ...]], part: slice) -> tuple[Any, ...]:
    """What the formula returns at these probe points."""
    inputs = [x[part] for x in _PROBE[: gradient.op.arity]]
    try:
        with np.errstate(all="ignore"):
            if not gradient.upstream:
                return evaluate(_numpy, inputs)
            result = gradient.formula.function(
                _numpy, _UPSTREAM[part], *inputs[: gradient.formula.takes], **gradient.params
            )
            return result if type(result) is tuple else (result,)
    except SurrogateError:
        raise
    except Exception as error:
        raise FormulaError(
            f"{gradient.id} fails on NumPy arrays: {type(error).__name__}: {error}. "
            "A formula is written over xp, the backend's namespace (xp.abs, xp.where, ...), "
            "and changes no array in place."
        ) from error


def _refuse_mixing(gradient: Gradient, found: tuple[Any, ...], alone: tuple[Any, ...], part: slice) -> None:
    """Refuse a formula whose value at a point depends on the others: backends batch differently."""
    together, single = [x[part] if isinstance(x, np.ndarray) else x for x in _leaves(found)], _leaves(alone)
    if len(together) != len(single) or not all(map(_same, together, single)):
        raise FormulaError(
            f"{gradient.id} gives another value at the same point when there are more points: "
            "a gradient is elementwise, without means, maxima, random numbers or other state."
        )


def _same(together: Any, single: Any) -> bool:
    return np.allclose(together, single, rtol=1e-9, atol=0, equal_nan=True)


def _leaves(found: tuple[Any, ...]) -> list[Any]:
    return [leaf for value in found for leaf in (value if isinstance(value, Window) else (value,))]


def _classify(gradient: Gradient, value: Any) -> Partial:
    if isinstance(value, Window):
        mask = np.asarray(value.mask)
        if mask.dtype != np.bool_:
            raise FormulaError(f"{gradient.id}: the mask of window() must be boolean, not {mask.dtype}.")
        _check(gradient, mask)
        sides = (value.inside, value.outside)
        arrays = [side for side in sides if not _is_number(side)]
        for array in arrays:
            _check(gradient, array, "f")
        return Partial(Kind.INPUTS) if arrays else Partial(Kind.MASK, *(_finite(gradient, v) for v in sides))
    if _is_number(value):
        return Partial(Kind.CONSTANT, _finite(gradient, value))
    if _check(gradient, value).dtype == np.bool_:
        return Partial(Kind.MASK, 1.0, 0.0)
    return Partial(Kind.INPUTS)


def _is_number(value: Any) -> bool:
    """Whether it is a Python number: NumPy's scalars are arrays, what elementwise functions make of them."""
    return isinstance(value, numbers.Real) and not isinstance(value, np.generic)


def _finite(gradient: Gradient, value: Any) -> float:
    number = as_float(value)
    if not math.isfinite(number):
        raise FormulaError(f"{gradient.id} returns {number} as a constant derivative.")
    return number


def _check(gradient: Gradient, value: Any, kinds: str = "bf") -> np.ndarray[Any, Any]:
    """``value`` as an array, refused if its dtype or shape is no derivative's."""
    if isinstance(value, Window):
        raise FormulaError(
            f"{gradient.id} returns a window() where an array is needed: select with xp.where(mask, a, b)."
        )
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise FormulaError(f"{gradient.id} returns {value!r}, which is no array.") from error
    if array.dtype.kind not in kinds:
        wanted = (
            "a cotangent, or a side of window(), is a float array"
            if kinds == "f"
            else "a derivative is a Python number, a boolean array, a float array or "
            "window(mask, inside, outside)"
        )
        found = f"{array.dtype} values" if array.dtype != object else f"{value!r} ({type(value).__name__})"
        raise FormulaError(f"{gradient.id} returns {found}; {wanted}.")
    if array.shape != _PROBE[0].shape:
        raise FormulaError(
            f"{gradient.id} returns shape {array.shape} for inputs of shape {_PROBE[0].shape}: "
            "a gradient is elementwise" + (", and of several inputs a tuple." if type(value) is list else ".")
        )
    return array


def _times(xp: Any, value: Any, v: Array) -> Array:
    return apply(xp, value, v) if _is_number(value) else value * v
