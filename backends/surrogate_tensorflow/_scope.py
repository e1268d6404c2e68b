"""What is in force here and now, and whether anything is in force anywhere.

Two things decide about an op: the core's rules, and what :func:`gradient_override_map` says of its op
type, which wins. A rule's own functions and TensorFlow's native gradients run *suspended*: they see neither.
"""

from __future__ import annotations

import contextvars
import functools
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import surrogate

T = TypeVar("T")
Types = Mapping[str, str]
NO_TYPES: Types = MappingProxyType({})


class Situation(NamedTuple):
    """What one place in the program obeys.

    Attributes:
        state: the core's rules.
        types: op type -> name of a registered gradient function.
    """

    state: surrogate.State
    types: Types

    @property
    def empty(self) -> bool:
        """Whether everything is native here."""
        return not self.types and not self.state.rules

    @property
    def key(self) -> str:
        """Text that differs whenever the gradients do; the part of tf.function's cache key that is ours."""
        return f"{self.state.rules.digest}{sorted(self.types.items()) if self.types else ''}"


class Suspension(threading.local):
    """Runs functions with nothing in force, in this thread; may be used again inside itself.

    An interrupt (Ctrl-C) is raised where a Python function begins or after a call, also in ``__exit__``: what
    is set here is put back by a plain assignment in a ``finally``, which nothing can come before.
    """

    on = False

    def run(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Call ``function`` with nothing in force."""
        before = self.on
        try:
            self.on = True
            return function(*args, **kwargs)
        finally:
            self.on = before


class Scope:
    """What is in force in each context.

    Args:
        backend: whose rules count.

    Attributes:
        alive: whether anything is in force anywhere in the process.
        suspension: the context in which a rule's own functions and native gradients run.
        suspended: ``suspended(function, *args)`` calls it in that context.
        attached: text that differs whenever other rules are on Keras layers.
        nothing: the situation in which everything is native.
    """

    def __init__(self, backend: surrogate.Backend) -> None:
        self._backend = backend
        self.alive = False
        self.attached = ""
        self.suspension = Suspension()
        self.suspended = self.suspension.run
        self._types: contextvars.ContextVar[tuple[Types, object | None]] = contextvars.ContextVar(
            "surrogate_tensorflow_types", default=(NO_TYPES, None)
        )
        self.nothing = Situation(backend.state(), NO_TYPES)  # no override can be older than the backend

    # -- reading -----------------------------------------------------------------------------

    @property
    def is_suspended(self) -> bool:
        """Whether a rule's own function or a native gradient runs in this thread."""
        return self.suspension.on

    def here(self) -> Situation:
        """What is in force here; nothing while suspended."""
        if self.suspension.on:
            return self.nothing
        return Situation(self._backend.state(), self._types.get()[0])

    # -- changing ----------------------------------------------------------------------------

    @contextmanager
    def types_in_force(self, types: Types) -> Iterator[None]:
        """Run a block with ``types`` in force instead of what ``gradient_override_map`` said so far."""
        before = self._types.get()
        try:
            self._set_types(types)
            yield
        finally:
            self._types.set(before)

    def _set_types(self, types: Types) -> None:
        self._types.set((types, self._backend.alive.hold() if types else None))

    def run(self, situation: Situation, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Call ``function`` under what another place in the program obeys; overrides entered inside it count.

        In a copy of the context, which the interpreter leaves by itself, however the function ends.
        """
        before = self.suspension.on
        try:
            self.suspension.on = False
            return contextvars.copy_context().run(self._under, situation, function, args, kwargs)
        finally:
            self.suspension.on = before

    def _under(self, situation: Situation, function: Callable[..., T], args: Any, kwargs: Any) -> T:
        self._set_types(situation.types)
        return self._backend.under(situation.state, function, *args, **kwargs)

    def bound(self, situation: Situation, function: Callable[..., Any]) -> Callable[..., Any]:
        """``function``, which may be the user's, run under ``situation`` wherever it is called."""

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            if not self.alive and situation.empty:
                return function(*args, **kwargs)
            return self.run(situation, function, *args, **kwargs)

        return run

    def suspending(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """``function``, which is the gradient of an op, run suspended wherever it is called."""

        def run(*args: Any, **kwargs: Any) -> Any:
            if not self.alive:
                return function(*args, **kwargs)
            return self.suspension.run(function, *args, **kwargs)

        return run
