"""Where booleans and integers come from: the origin of a value, for as long as the value lives.

An origin makes a *float twin* of its value when somebody needs one: what a cast of the value would give, with
the gradient of the rule. What is done to the value is done to the twin.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from surrogate_jax._hooks import traces_in_force

Array = Any


class Lazy:
    """An array that is made when it is asked for, once in each trace that asks.

    Args:
        make: makes it.
        needs: what it is made of: arrays, and other lazy ones.
    """

    __slots__ = ("_found", "make", "needs")

    def __init__(self, make: Callable[[], Array], needs: Sequence[Any]) -> None:
        self.make = make
        self.needs = tuple(needs)
        self._found: Array = None

    def __call__(self) -> Array:
        """The array; made again where the one that was made belongs to a trace that has ended."""
        if self._found is None or not is_usable(self._found):
            self._found = self.make()
        return self._found

    def usable(self) -> bool:
        """Whether all that it is made of can be used here."""
        return all(x.usable() if isinstance(x, Lazy) else is_usable(x) for x in self.needs)


@dataclass(frozen=True, eq=False)
class Index:
    """That a value is a function of a class: of the place of the largest along an axis.

    Attributes:
        one_hot: the one-hot vector of the class, along a last axis beyond those of the value.
        values: what the value is for each class.
    """

    one_hot: Lazy
    values: Array


@dataclass(frozen=True, eq=False)
class Origin:
    """What a boolean or an integer comes from.

    Attributes:
        twin: the value as floats, with the gradient of the rule.
        index: what is known beyond that of the index of a largest entry.
        among: the same of one of several indices along the last axis: which, and what is known.
    """

    twin: Lazy
    index: Index | None = None
    among: tuple[int, Index] | None = None


_alive: dict[int, tuple[weakref.ref[Any], Origin]] = {}


def any_alive() -> bool:
    """Whether any value has an origin."""
    return bool(_alive)


def count() -> int:
    """How many values have an origin."""
    return len(_alive)


def set_origin(value: Array, origin: Origin) -> Array:
    """Let ``value`` have this origin; returns the value."""
    key = id(value)
    forget = _alive.pop  # bound: when Python ends the module's names are gone before the last values
    _alive[key] = weakref.ref(value, lambda _: forget(key, None)), origin
    return value


def origin_of(value: Any) -> Origin | None:
    """The origin of a value, if it has one that can be used here."""
    entry = _alive.get(id(value))
    if entry is None or entry[0]() is not value or not entry[1].twin.usable():
        return None
    return entry[1]


def is_usable(x: Any) -> bool:
    """Whether ``x`` is no tracer of a trace that has ended, or that is set aside here."""
    return not isinstance(x, jax.core.Tracer) or any(x._trace is trace for trace in traces_in_force())
