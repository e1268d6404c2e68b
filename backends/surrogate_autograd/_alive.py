"""Whether any override of this backend is alive anywhere, so that hooks exist only then."""

from __future__ import annotations

import contextvars
import threading
import weakref
from collections.abc import Callable

from surrogate import RuleSet


class _Mark:
    """Held by each context in which rules are in force, and by nothing else."""

    __slots__ = ("__weakref__",)


class Alive:
    """Turns hooks on with the first override and off after the last.

    A context (an async task, say) copies the marks of the one that started it, exactly as it copies
    the overrides. So a mark lives for as long as some context may still be inside, even when the
    block that made it was left long ago.

    Args:
        on, off: called under a lock, in turns; once more if they were interrupted.
    """

    def __init__(self, on: Callable[[], None], off: Callable[[], None]) -> None:
        self._on, self._off = on, off
        self._is_on: bool | None = False
        self._settling = False
        self._process = False
        self._marks: set[weakref.ref[_Mark]] = set()
        self._mark: contextvars.ContextVar[_Mark | None] = contextvars.ContextVar("surrogate", default=None)
        self._lock = threading.RLock()  # reentrant: a mark may be collected while we hold it

    def process(self, rules: RuleSet | None) -> None:
        """The process-wide rules changed."""
        with self._lock:
            self._process = bool(rules)
            self._settle()

    def context(self, rules: RuleSet | None) -> None:
        """The rules of this context changed."""
        if not rules:
            self._mark.set(None)  # the last holder of a mark lets go: _forget is called
            return
        mark = _Mark()
        with self._lock:
            self._marks.add(weakref.ref(mark, self._forget))
            self._settle()
        self._mark.set(mark)

    def _forget(self, dead: weakref.ref[_Mark]) -> None:
        with self._lock:
            self._marks.discard(dead)
            self._settle()

    def _settle(self) -> None:
        if self._settling:
            return  # a mark was collected while we switch: the loop below sees it
        self._settling = True
        try:
            while self._is_on != (wanted := self._process or bool(self._marks)):
                self._is_on = None  # interrupted in between, all of it is done again
                (self._on if wanted else self._off)()
                self._is_on = wanted
        finally:
            self._settling = False
