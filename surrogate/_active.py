"""Which rules are in force, where: one store per backend.

A process-wide stack that every thread sees lies under a context-local stack that only this thread
or async task sees. Later and inner layers win, op by op. Removing a layer, in any order, gives the
state one would compute from the layers that are left.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from operator import attrgetter
from types import FrameType
from typing import Any, Literal, TypeVar

from surrogate._ending import Block, to_its_end
from surrogate._places import Callers, Site
from surrogate._ruleset import RuleSet
from surrogate._state import Entry, Layer, State
from surrogate._untraced import untraced

Scope = Literal["process", "context"]
R = TypeVar("R")


def _alive(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """Without those that were left from another context."""
    return tuple(entry for entry in entries if entry.alive)


def _under(state: State, entries: tuple[Entry, ...]) -> State:
    return state.under(tuple(entry.layer for entry in entries if entry.alive))


class _Local:
    """The context-local stack: entries over a base, which is the process-wide state if None."""

    __slots__ = ("base", "entries", "memo", "thread")

    def __init__(self, base: State | None, entries: tuple[Entry, ...]) -> None:
        self.base = base
        self.thread = entries[-1].thread if entries else threading.get_ident()
        self.entries = entries
        self.memo: tuple[State, State] | None = None

    def resolve(self, process: State) -> State:
        memo = self.memo
        if memo is not None and memo[0] is process:
            return memo[1]
        state = _under(self.base or process, self.entries)
        self.memo = (process, state)
        return state


class Store:
    """All overrides of one backend that are alive.

    Args:
        apply: called after every change with the rules now in force in the scope that changed;
            ``None`` says that nothing context-local is left. If it raises, the change is taken back.
        callers: tells the user's code from the framework's.
        module_path: the name of the module of a model that a frame runs.

    Attributes:
        seen: op and digest of gradients that compiled code may carry unseen.
        met: dotted names of code that called an op where an override has places.
    """

    def __init__(
        self,
        apply: Callable[[RuleSet | None, Scope], None],
        callers: Callers | None = None,
        module_path: Callable[[FrameType], str] = lambda frame: "",
    ) -> None:
        self.lock = threading.RLock()
        self.seen: set[tuple[str, str]] = set()
        self.met: set[str] = set()
        self.callers = callers or Callers(("surrogate",))
        self._module_path = module_path
        self._apply = apply
        self._layers: tuple[Layer, ...] = ()
        self._process = State(self, {})
        self._nothing = self._process
        self._local: contextvars.ContextVar[_Local | None] = contextvars.ContextVar("surrogate", default=None)

    def __reduce__(self) -> Any:
        # a decorated function holds the store of its backend, and may be sent to another process
        return attrgetter("store"), (getattr(self._apply, "__self__", None),)

    def state(self) -> State:
        """What is in force here and now."""
        local = self._local.get()
        return self._process if local is None else local.resolve(self._process)

    def site(self, frame: FrameType | Site) -> Site:
        """The place in the user's code that a frame was called from."""
        if isinstance(frame, Site):
            return frame
        found = self.callers.user_frame(frame)
        if found is None:
            return Site("", 0, "")
        here = Site(found.f_code.co_filename, found.f_lineno, self.callers.name(found))
        return (self.callers.original(found) or here)._replace(path=self._module_path(frame))

    def is_foreign(self) -> bool:
        """Whether what is in force here came with a copy of another thread's context.

        A backend that tells its framework by thread must not leave such rules behind in this thread.
        """
        local = self._local.get()
        return local is not None and local.thread != threading.get_ident()

    def layers(self) -> tuple[Layer, ...]:
        """The process-wide layers, from the bottom up."""
        return self._layers

    def entered(self) -> tuple[Layer, ...]:
        """The layers of this context, from the bottom up."""
        local = self._local.get()
        return () if local is None else tuple(entry.layer for entry in _alive(local.entries))

    # -- process-wide ------------------------------------------------------------------------

    def install(self, layer: Layer) -> None:
        """Put a layer on top of the process-wide stack."""
        for formula in layer.formulas:
            formula.refuse_changed()
        self._set_process(lambda layers: (*layers, layer))

    def uninstall(self, layer: Layer) -> None:
        """Take a layer out of the process-wide stack, wherever it lies."""
        to_its_end(self._set_process, lambda layers: tuple(other for other in layers if other is not layer))

    def _set_process(self, change: Callable[[tuple[Layer, ...]], tuple[Layer, ...]]) -> None:
        with self.lock:
            before = self._layers, self._process
            self._layers = change(self._layers)
            self._process = self._nothing.under(self._layers)
            try:
                self._apply(self._process.rules, "process")
            except BaseException:
                self._layers, self._process = before
                self._apply(self._process.rules, "process")
                raise

    # -- this context ------------------------------------------------------------------------

    @untraced
    def push(self, layer: Layer, entry: Entry) -> None:
        """Put a layer on top of this context's stack, as this entry."""
        for formula in layer.formulas:
            formula.refuse_changed()
        before = self._local.get()
        base, entries = (None, ()) if before is None else (before.base, _alive(before.entries))
        try:
            self._set_local(_Local(base, (*entries, entry)), before)
        except BaseException:
            self.pop(entry)  # interrupted here, nobody would leave it
            raise

    def holds(self, entry: Entry) -> bool:
        """Whether the entry lies on this context's stack."""
        local = self._local.get()
        return local is not None and entry in local.entries

    @untraced
    def pop(self, entry: Entry) -> None:
        """Take an entry out of this context's stack, wherever it lies.

        An entry of another context (a generator that somebody else closes) is switched off there.
        """
        to_its_end(self._take_out, entry)

    def _take_out(self, entry: Entry) -> None:
        local = self._local.get()
        if local is None or not self.holds(entry):
            with self.lock:
                entry.alive = False
                self._process = self._nothing.under(self._layers, again=True)  # a new one: resolve anew
            return
        left = tuple(other for other in _alive(local.entries) if other is not entry)
        self._set_local(_Local(local.base, left) if left or local.base is not None else None, local)

    @untraced
    def exactly(self, state: State | None) -> Block:
        """In this context use exactly these rules, whatever is in force around; None: no rules."""
        before: list[_Local | None] = []

        def begin() -> None:
            before.append(self._local.get())
            self._set_local(_Local(state or self._nothing, ()), before[0])

        def end() -> None:
            if before:
                self._set_local(before[0], self._local.get())

        return Block(begin, end)

    def under(self, state: State | None, function: Callable[..., R], args: Any, kwargs: Any) -> R:
        """Call ``function`` under exactly these rules; an interrupt at its end leaves nothing of them."""
        before = self._local.get()
        try:
            self._set_local(_Local(state or self._nothing, ()), before)
            return function(*args, **kwargs)
        finally:
            self._local.set(before)  # no Python function, at whose beginning an interrupt could come
            self._apply(None if before is None else before.resolve(self._process).rules, "context")

    def _set_local(self, local: _Local | None, before: _Local | None) -> None:
        try:
            self._local.set(local)
            self._apply(None if local is None else local.resolve(self._process).rules, "context")
        except BaseException:
            self._local.set(before)
            self._apply(None if before is None else before.resolve(self._process).rules, "context")
            raise
