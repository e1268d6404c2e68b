"""The rules in force at one place, as one value that compilers may key on."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from surrogate._digest import digest
from surrogate._function import FunctionGradient
from surrogate._gradient import Gradient
from surrogate._places import Places

#: What layers ask for one op, from the top down, as far as they have a place: the gradient or None (native).
Choices = tuple[tuple[Places | None, Gradient | None], ...]

_interned: weakref.WeakValueDictionary[Any, RuleSet] = weakref.WeakValueDictionary()
_lock = threading.RLock()  # reentrant: collecting garbage inside may run anything


class RuleSet(Mapping[str, Gradient]):
    """The rules in force at one place: op name -> gradient. Immutable, hashable and interned.

    Equal rule sets are the identical object while one is alive, so a compiler's guard may compare
    with ``is``; :attr:`digest` is for caches that outlive the process. Where overrides have places
    (``within=``, ``outside=``) an op's gradient depends on the code that calls it: the mapping then tells the
    first one that may apply, :attr:`placed` all of them, and :meth:`State.rule` which it is.

    Attributes:
        placed: op -> what applies to it, in order: (places, gradient or None for native).
    """

    __slots__ = ("__dict__", "__weakref__", "_rules", "placed")

    _rules: dict[str, Gradient]
    placed: Mapping[str, Choices]

    def __new__(cls, rules: Mapping[str, Gradient], placed: Mapping[str, Choices] | None = None) -> RuleSet:
        key = frozenset(rules.items()), frozenset((placed or {}).items())
        found = _interned.get(key)
        if found is not None:
            return found
        made = super().__new__(cls)
        made._rules, made.placed = dict(rules), dict(placed or {})
        with _lock:  # two threads may make equal ones at the same moment
            return _interned.setdefault(key, made)

    @cached_property
    def digest(self) -> str:
        """Hex text that is equal in every process for equal rules; empty when there are none."""
        return digest(repr(sorted(self.keyed.items()))) if self._rules else ""

    @cached_property
    def keyed(self) -> Mapping[str, str]:
        """For each op the text that a compiler keys on: it differs whenever the gradient may."""
        return {op: self._key(op) for op in self._rules}

    @cached_property
    def functions(self) -> tuple[Any, ...]:
        """The gradients of whole functions among them."""
        return tuple([gradient for gradient in self.values() if isinstance(gradient, FunctionGradient)])

    @cached_property
    def learns(self) -> bool:
        """Whether a gradient has a learned parameter, so that an op of constants may want a gradient."""
        placed: list[Any] = [gradient for choices in self.placed.values() for _, gradient in choices]
        rules = [getattr(gradient, "rule", None) for gradient in (*self.values(), *placed)]
        return any(rule is not None and rule.learned for rule in rules)  # whole functions have none

    def _key(self, op: str) -> str:
        choices = self.placed.get(op)
        if choices is None:
            return self._rules[op].digest
        return digest(repr([(repr(places), g.digest if g else "") for places, g in choices]))

    def get(self, op: str, default: Gradient | None = None) -> Gradient | None:  # type: ignore[override]
        """The gradient of an op, or ``default``, whatever code calls it."""
        return self._rules.get(op, default)

    def __getitem__(self, op: str) -> Gradient:
        return self._rules[op]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, RuleSet):
            return self is other or (self._rules == other._rules and self.placed == other.placed)
        return isinstance(other, Mapping) and not self.placed and self._rules == dict(other)

    def __reduce__(self) -> tuple[type[RuleSet], tuple[Mapping[str, Gradient], Mapping[str, Choices]]]:
        return RuleSet, (self._rules, self.placed)

    def __repr__(self) -> str:
        return f"RuleSet({ {op: self._told(op) for op in self._rules} })"

    def _told(self, op: str) -> str:
        choices = self.placed.get(op, ((None, self._rules[op]),))
        told = (f"{g.spec if g else 'native'}{f' [{places}]' if places else ''}" for places, g in choices)
        return ", else ".join(told)
