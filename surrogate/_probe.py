"""A formula is evaluated once on NumPy arrays: to learn its kinds, and to refuse a wrong one early."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from surrogate import _numpy
from surrogate._bound import Bound
from surrogate._errors import FormulaError, SurrogateError
from surrogate._live import Live, Values
from surrogate._parameters import as_float
from surrogate._partial import Kind, Partial, Window, as_window, is_number
from surrogate._reads import foreign

Evaluate = Callable[..., tuple[Any, ...]]


def _constant(*values: float) -> np.ndarray[Any, Any]:
    array = np.array(values)
    array.flags.writeable = False  # a formula that changes its inputs in place is refused
    return array


# Generic points: no op is at a tie, no divisor is 0, bounds are ordered.
_PROBE = (
    _constant(-1.75, 0.25, 1.25),
    _constant(-1.0, -0.5, -0.75),
    _constant(1.0, 0.5, 0.75),
    _constant(2.0, -1.5, 1.75),
    _constant(-2.25, 3.0, 2.5),
)
_UPSTREAM = _constant(1.0, -2.0, 0.5)


class Probed(NamedTuple):
    """What is known of a formula's partial derivatives before any input is.

    Attributes:
        partials: one for each input.
        shared: input -> an earlier input whose mask is the same object.
        interval: the bounds of the interval that it is, if it says that it is one.
    """

    partials: tuple[Partial, ...]
    shared: dict[int, int]
    interval: tuple[float, float] | None


def probe(bound: Bound, evaluate: Evaluate, live: Live) -> Probed:
    """Evaluate a formula that gives partial derivatives.

    Raises:
        FormulaError: it fails there, or returns what is no derivative.
    """
    op = bound.op

    def run(part: slice) -> tuple[Any, ...]:
        points = [x[part] for x in _PROBE[: op.arity]]
        return _guarded(bound, lambda: evaluate(_numpy, points, None, live.samples()))

    if live:
        _guarded(bound, lambda: evaluate(_numpy, *_at_whole(op.arity, live)))
    found = run(slice(None))
    if len(found) != op.arity:
        raise FormulaError(
            f"{bound.id} returns {len(found)} values; {op.name!r} has {op.arity} "
            f"input{'s'[: op.arity > 1]} ({', '.join(op.inputs)})."
        )
    partials = tuple(_classify(bound, value) for value in found)
    _refuse_mixing(bound, found, run)
    masks = {i: id(_mask(value)) for i, value in enumerate(found) if partials[i].kind is Kind.MASK}
    shared = {i: next(j for j in masks if masks[j] == masks[i]) for i in masks}
    return Probed(partials, shared, _interval(bound, evaluate))


def probe_upstream(bound: Bound, live: Live) -> int:
    """Evaluate a formula of the upstream gradient. Returns how many cotangents it gives.

    Raises:
        FormulaError: it fails there, or returns what is no cotangent.
    """

    if bound.op.one_hot and bound.attributes:
        return 1  # probed before, without: the probe's row has no second axis

    def run(part: slice) -> tuple[Any, ...]:
        points = [x[part] for x in _PROBE[: bound.op.arity]]
        return _guarded(bound, lambda: bound.cotangents(_numpy, _UPSTREAM[part], points, live.samples()))

    found = run(slice(None))
    if len(found) > bound.op.arity:
        raise FormulaError(
            f"{bound.id} returns {len(found)} values; {bound.op.name!r} has {bound.op.arity} "
            f"input{'s'[: bound.op.arity > 1]} ({', '.join(bound.op.inputs)})."
        )
    for value in found:
        _check(bound, value, "f")
    if bound.op.elementwise:
        _refuse_mixing(bound, found, run)
    return len(found)


def _at_whole(arity: int, live: Live) -> tuple[list[Any], None, Values]:
    """Points of the shape that all arrays broadcast to: a formula may compare one parameter with another."""
    values, shape = live.whole()
    return [np.full(shape, row[1]) for row in _PROBE[:arity]], None, values


def _guarded(bound: Bound, evaluate: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
    try:
        with np.errstate(all="ignore"):
            return evaluate()
    except SurrogateError:
        raise
    except Exception as error:
        alias = foreign(getattr(bound.function, "func", bound.function))
        if alias is not None:
            raise FormulaError(
                f"{bound.id} uses {alias} and fails on NumPy arrays: {type(error).__name__}: {error}. "
                f"Use xp, the first argument, in place of {alias} (xp.tanh for {alias}.tanh): it has the "
                "functions of the backend that asks."
            ) from error
        raise FormulaError(
            f"{bound.id} fails on NumPy arrays: {type(error).__name__}: {error}. "
            "A formula is written over xp, the backend's namespace (xp.abs, xp.where, ...), "
            "and changes no array in place."
        ) from error


def _refuse_mixing(bound: Bound, found: tuple[Any, ...], run: Callable[[slice], tuple[Any, ...]]) -> None:
    """Refuse a formula whose value at a point depends on the others: backends batch differently."""
    for part in (slice(1), slice(-1, None)):
        alone = _leaves(run(part))
        together = [x[part] if isinstance(x, np.ndarray) and x.ndim else x for x in _leaves(found)]
        if len(together) != len(alone) or not all(map(_same, together, alone)):
            raise FormulaError(
                f"{bound.id} gives another value at the same point when there are more points: "
                "a gradient is elementwise, without means, maxima, random numbers or other state."
            )


def _same(together: Any, single: Any) -> bool:
    return np.allclose(together, single, rtol=1e-9, atol=0, equal_nan=True)


def _leaves(found: tuple[Any, ...]) -> list[Any]:
    return [leaf for value in found for leaf in (value if isinstance(value, Window) else (value,))]


def _mask(value: Any) -> Any:
    return value.mask if isinstance(value, Window) else value


def _interval(bound: Bound, evaluate: Evaluate) -> tuple[float, float] | None:
    """The interval that the formula was registered to be, after a look at its edges.

    Raises:
        FormulaError: the formula is not 1 inside and 0 outside.
    """
    if bound.interval is None:
        return None
    lo, hi = bound.interval
    inside = [lo, hi, (lo + hi) / 2]
    outside = [np.nextafter(lo, -np.inf), np.nextafter(hi, np.inf), -np.inf, np.inf, np.nan]
    x = np.array([*_PROBE[0], *inside, *outside])
    found = _guarded(bound, lambda: evaluate(_numpy, [x], None))
    value = as_window(found[0])
    numbers = np.where(value.mask, value.inside, value.outside) if isinstance(value, Window) else value
    if not np.array_equal(np.broadcast_to(numbers, x.shape), (lo <= x) & (x <= hi)):
        raise FormulaError(
            f"{bound.id} is registered as the interval [{lo:g}, {hi:g}], 1 inside and 0 outside, and is not."
        )
    return lo, hi


def _classify(bound: Bound, value: Any) -> Partial:
    if isinstance(value, Window):
        mask = np.asarray(value.mask)
        if mask.dtype != np.bool_:
            raise FormulaError(f"{bound.id}: the mask of window() must be boolean, not {mask.dtype}.")
        _check(bound, mask)
        sides = (value.inside, value.outside)
        arrays = [side for side in sides if not is_number(side)]
        for array in arrays:
            _check(bound, array, "f")
        return Partial(Kind.INPUTS) if arrays else Partial(Kind.MASK, *(_finite(bound, v) for v in sides))
    if is_number(value):
        return Partial(Kind.CONSTANT, _finite(bound, value))
    if _check(bound, value).dtype == np.bool_:
        return Partial(Kind.MASK, 1.0, 0.0)
    return Partial(Kind.INPUTS)


def _finite(bound: Bound, value: Any) -> float:
    number = as_float(value)
    if not math.isfinite(number):
        raise FormulaError(f"{bound.id} returns {number} as a constant derivative.")
    return number


def _check(bound: Bound, value: Any, kinds: str = "bf") -> np.ndarray[Any, Any]:
    """``value`` as an array, refused if its dtype or shape is no derivative's."""
    if isinstance(value, Window):
        raise FormulaError(
            f"{bound.id} returns a window() where an array is needed: select with xp.where(mask, a, b)."
        )
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise FormulaError(f"{bound.id} returns {value!r}, which is no array.") from error
    if array.dtype.kind not in kinds:
        wanted = (
            "a cotangent, or a side of window(), is a float array"
            if kinds == "f"
            else "a derivative is a Python number, a boolean array, a float array or "
            "window(mask, inside, outside)"
        )
        found = f"{array.dtype} values" if array.dtype != object else f"{value!r} ({type(value).__name__})"
        raise FormulaError(f"{bound.id} returns {found}; {wanted}.")
    if array.shape != _PROBE[0].shape and not (bound.live and not array.shape):
        raise FormulaError(
            f"{bound.id} returns shape {array.shape} for inputs of shape {_PROBE[0].shape}: "
            "a gradient is elementwise" + (", and of several inputs a tuple." if type(value) is list else ".")
        )
    return array
