"""Which functions are exchanged now: those of the rules in force, in the process and in every context."""

from __future__ import annotations

import contextvars
import threading
import weakref
from typing import Any

from surrogate._exchange import Catcher, exchange
from surrogate._function import FunctionGradient
from surrogate._ruleset import RuleSet


class _Hold:
    """Functions held for one set of rules; let go when released, or with the last context that has it."""

    __slots__ = ("__weakref__", "_finalizer")

    def __init__(self, name: str, catch: Catcher, gradients: tuple[FunctionGradient, ...]) -> None:
        exchanges = [exchange(gradient.target) for gradient in gradients]
        for one in exchanges:
            one.hold(name, catch)
        self._finalizer = weakref.finalize(self, _let_go, name, exchanges)
        self._finalizer.atexit = False

    def release(self) -> None:
        self._finalizer()


def _let_go(name: str, exchanges: list[Any]) -> None:
    for one in exchanges:
        one.release(name)


class Holds:
    """The functions that one backend's rules name, exchanged while any of these rules is in force anywhere.

    Args:
        name: the backend's name.
        catch: what answers a call of such a function.
    """

    def __init__(self, name: str, catch: Catcher) -> None:
        self._name, self._catch = name, catch
        self._lock = threading.RLock()
        self._process: _Hold | None = None
        self._context: contextvars.ContextVar[_Hold | None] = contextvars.ContextVar(
            "surrogate_functions", default=None
        )

    def changed(self, rules: RuleSet | None, scope: str) -> None:
        """The rules in force have changed, in the process or in this context."""
        gradients = () if rules is None else rules.functions
        if scope == "process":
            with self._lock:
                before, self._process = self._process, self._held(gradients)
                if before is not None:
                    before.release()
        elif gradients or self._context.get() is not None:
            self._context.set(self._held(gradients))

    def _held(self, gradients: tuple[FunctionGradient, ...]) -> _Hold | None:
        return _Hold(self._name, self._catch, gradients) if gradients else None
