"""The rules as JAX's caches are keyed by them, and what was captured by what is in the caches.

A compiled function runs without any Python of ours. But JAX compares its own key with the one in force,
and calls ``__eq__`` where they are not the same object. So every function that JAX compiles gets a key
object of its own, which knows what the function has captured: comparing it tells that the function is called.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import surrogate
from surrogate_jax._hooks import PRIVATE

_numbers = itertools.count()


class Key:
    """Rules in JAX's keys; equal to any other of the same rules.

    Attributes:
        rules: the rules.
        captured: what the one function has captured that was compiled under it.
        state: tells what is in force here and now; the backend sets it.
    """

    state: ClassVar[Callable[[], surrogate.State]]

    __slots__ = ("_number", "_told", "captured", "rules")

    def __init__(self, rules: surrogate.RuleSet, told: set[int] | None = None) -> None:
        self.rules = rules
        self.captured: surrogate.Compiled | None = None
        self._number = next(_numbers)
        self._told: set[int] = set() if told is None else told

    def fresh(self) -> Key:
        """One of the same rules for the next function; what was told under this one is told."""
        return Key(self.rules, self._told)

    def __hash__(self) -> int:
        return id(self.rules)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Key) or self.rules is not other.rules:
            return False
        # JAX's own look-ups in Python are made from its sources; those of a call are made by the caller
        if (self.captured or other.captured) and not _is_private(sys._getframe(1).f_code.co_filename):
            self._tell(other)
            other._tell(self)
        return True

    def _tell(self, other: Key) -> None:
        """Under this key, which is in force, the function of the other is called."""
        if other.captured and other._number not in self._told:
            self._told.add(other._number)
            other.captured.ran(Key.state())


def _is_private(file: str) -> bool:
    return file.startswith(PRIVATE)


_seen: WeakKeyDictionary[Any, surrogate.Compiled] = WeakKeyDictionary()


def captured_by(jaxpr: Any, here: surrogate.State) -> surrogate.Compiled:
    """What a traced function has captured."""
    found = _seen.get(jaxpr)
    if found is None:
        found = _seen[jaxpr] = surrogate.Compiled()
        for call in filter(lambda call: call.op, _calls(jaxpr)):  # a twin was captured with its value
            found.add(here, call.op, call.site)
    return found


def _calls(jaxpr: Any) -> Iterator[Any]:
    for eqn in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        if eqn.primitive.name == "surrogate":
            yield eqn.params["call"]
        for inner in jaxprs(eqn.params):
            yield from _calls(inner)


def jaxprs(params: Mapping[str, Any]) -> Iterator[Any]:
    """The functions among the parameters of a primitive."""
    for value in params.values():
        for inner in value if isinstance(value, tuple | list) else (value,):
            if hasattr(inner, "eqns") or hasattr(inner, "jaxpr"):
                yield inner
