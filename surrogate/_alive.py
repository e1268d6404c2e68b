"""Whether anything of a backend is in force anywhere, in any thread or context: told first and last."""

from __future__ import annotations

import atexit
import contextvars
import threading
import weakref
from collections.abc import Callable
from typing import Any


class Token:
    """Held by what is in force, a context for one; when the last is gone, nothing is."""

    __slots__ = ("__weakref__",)


class Alive:
    """Tells when something comes into force where nothing was, and when nothing is left.

    A context (an async task, say) copies the tokens of the one that started it, exactly as it copies
    the overrides. So a token lives for as long as some context may still be inside, even when the
    block that made it was left long ago.

    Args:
        first, last: called under a lock, in turns; once more if they were interrupted.
    """

    def __init__(self, first: Callable[[], None], last: Callable[[], None]) -> None:
        self._first, self._last = first, last
        self._told: bool | None = False
        self._settling = False
        self._process = False
        self._tokens: set[weakref.ref[Token]] = set()
        self._here: contextvars.ContextVar[Token | None] = contextvars.ContextVar("surrogate", default=None)
        self._lock = threading.RLock()  # reentrant: a token may be collected while we hold it
        atexit.register(self._stop)

    def changed(self, rules: Any, scope: str) -> None:
        """The rules of the process, or of this context, have changed."""
        if scope == "process":
            with self._lock:
                self._process = bool(rules)
                self._settle()
        else:
            self._here.set(self.hold() if rules else None)

    def hold(self) -> Token:
        """Something more is in force, for as long as what is returned lives."""
        token = Token()
        with self._lock:
            self._tokens.add(weakref.ref(token, self._forget))
            self._settle()
        return token

    def _forget(self, dead: weakref.ref[Token]) -> None:
        with self._lock:
            self._tokens.discard(dead)
            self._settle()

    def _anything(self) -> bool:
        # a token whose end was interrupted is still among them
        self._tokens = {token for token in list(self._tokens) if token() is not None}
        return self._process or bool(self._tokens)

    def _settle(self) -> None:
        if self._settling:
            return  # a token was collected while we tell: the loop below sees it
        self._settling = True
        try:
            while self._told != (anything := self._anything()):
                self._told = None  # interrupted in between, all of it is done again
                (self._first if anything else self._last)()
                self._told = anything
        finally:
            self._settling = False

    def _stop(self) -> None:
        """The process ends: what dies from now on changes nothing."""
        self._first = self._last = lambda: None
