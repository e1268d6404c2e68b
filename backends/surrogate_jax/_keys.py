"""The rules as JAX's caches are keyed by them, and what was captured by what is in the caches.

A compiled function runs without any Python of ours. But JAX compares its own key with the one in force,
and calls ``__eq__`` where they are not the same object. So every function that JAX compiles gets a key
object of its own, which knows what the function has captured: comparing it tells that the function is called.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple
from weakref import WeakKeyDictionary

import surrogate
from surrogate_jax._hooks import looks_up

_numbers = itertools.count()


class Place(NamedTuple):
    """Where an op was captured.

    Attributes:
        op: its name.
        key: what compilers key on for its rule there.
        site: from where it was called.
    """

    op: str
    key: str
    site: surrogate.Site


class Key:
    """Rules in JAX's keys; equal to any other of the same rules.

    Attributes:
        rules: the rules.
        captured: what the one function has captured that was compiled under it.
        state: tells what is in force here and now; the backend sets it.
    """

    state: ClassVar[Callable[[], surrogate.State]]

    __slots__ = ("_number", "_told", "captured", "rules")

    def __init__(self, rules: surrogate.RuleSet, told: set[Place | int] | None = None) -> None:
        self.rules = rules
        self.captured: frozenset[Place] = frozenset()
        self._number = next(_numbers)
        self._told: set[Place | int] = set() if told is None else told

    def fresh(self) -> Key:
        """One of the same rules for the next function; what was told under this one is told."""
        return Key(self.rules, self._told)

    def belongs_to(self, captured: frozenset[Place]) -> None:
        """A function that has captured this was compiled under this key, and has run and been told."""
        self.captured |= captured  # another thread may have called one at the same moment
        self._told.add(self._number)

    def noted(self, place: Place) -> None:
        """An op was captured, and counted."""
        self._told.add(place)

    def tell(self, captured: frozenset[Place]) -> None:
        """Under this key, which is in force, a function is called that has captured this."""
        state = Key.state()
        for place in captured - self._told:
            self._told.add(place)
            if state.rules.keyed.get(place.op) == place.key:
                state.captured(place.op, kept=False, frame=place.site)

    def __hash__(self) -> int:
        return id(self.rules)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Key) or self.rules is not other.rules:
            return False
        # JAX's own look-ups in Python are made from its sources; those of a call are made by the caller
        if (self.captured or other.captured) and not looks_up(sys._getframe(1)):
            self._called_of(other)
            other._called_of(self)
        return True

    def _called_of(self, other: Key) -> None:
        """Under this key the function of the other is called; each is told once."""
        if other.captured and other._number not in self._told:
            self._told.add(other._number)
            self.tell(other.captured)


_seen: WeakKeyDictionary[Any, frozenset[Place]] = WeakKeyDictionary()


def remember(jaxpr: Any, places: set[Place]) -> None:
    """While a function was traced ops were captured in these places; none where JAX had its jaxpr."""
    if places or jaxpr not in _seen:
        _seen[jaxpr] = captured_by(jaxpr) | places


def captured_by(jaxpr: Any) -> frozenset[Place]:
    """What a traced function has captured."""
    found = _seen.get(jaxpr)
    if found is None:
        found = _seen[jaxpr] = frozenset(_places(jaxpr))
    return found


def _places(jaxpr: Any) -> Iterator[Place]:
    for eqn in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        place = getattr(eqn.params.get("call"), "place", None)
        if place is not None:
            yield place
        for inner in jaxprs(eqn.params):
            yield from captured_by(inner)


def jaxprs(params: Mapping[str, Any]) -> Iterator[Any]:
    """The functions among the parameters of a primitive."""
    for value in params.values():
        for inner in value if isinstance(value, tuple | list) else (value,):
            if hasattr(inner, "eqns") or hasattr(inner, "jaxpr"):
                yield inner
