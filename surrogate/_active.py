"""Which rules are in force, where: one store per backend.

A process-wide stack that every thread sees lies under a context-local stack that only this thread
or async task sees. Later and inner layers win, op by op. Removing a layer, in any order, gives the
state one would compute from the layers that are left.
"""

from __future__ import annotations

import contextvars
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from operator import attrgetter
from typing import Any, Literal, TypeVar

from surrogate._digest import digest
from surrogate._gradient import Gradient
from surrogate._untraced import untraced

Scope = Literal["process", "context"]
T = TypeVar("T")
R = TypeVar("R")

#: How many captured gradients are remembered: a new function in every step must not fill the memory.
_REMEMBERED = 4096

_interned: weakref.WeakValueDictionary[frozenset[tuple[str, Gradient]], RuleSet] = (
    weakref.WeakValueDictionary()
)
_lock = threading.RLock()  # reentrant: collecting garbage inside may run anything


class RuleSet(Mapping[str, Gradient]):
    """The rules in force at one place: op name -> gradient. Immutable, hashable and interned.

    Equal rule sets are the identical object while one is alive, so a compiler's guard may compare
    with ``is``; :attr:`digest` is for caches that outlive the process.
    """

    __slots__ = ("__dict__", "__weakref__", "_rules")

    _rules: dict[str, Gradient]

    def __new__(cls, rules: Mapping[str, Gradient]) -> RuleSet:
        key = frozenset(rules.items())
        found = _interned.get(key)
        if found is not None:
            return found
        made = super().__new__(cls)
        made._rules = dict(rules)
        with _lock:  # two threads may make equal ones at the same moment
            return _interned.setdefault(key, made)

    @cached_property
    def digest(self) -> str:
        """Hex text that is equal in every process for equal rules; empty when there are none."""
        if not self._rules:
            return ""
        text = repr(sorted((op, gradient.digest) for op, gradient in self._rules.items()))
        return digest(text)

    def get(self, op: str, default: Gradient | None = None) -> Gradient | None:  # type: ignore[override]
        """The gradient of an op, or ``default``. The fast path of every backend."""
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
        return self is other or (isinstance(other, Mapping) and self._rules == dict(other))

    def __reduce__(self) -> tuple[type[RuleSet], tuple[dict[str, Gradient]]]:
        return RuleSet, (self._rules,)

    def __repr__(self) -> str:
        return f"RuleSet({ {op: gradient.spec for op, gradient in self._rules.items()} })"


class Layer:
    """What one override asks for: a gradient or None (native) by op, and how often it was captured."""

    __slots__ = ("hits", "rules")

    def __init__(self, rules: Mapping[str, Gradient | None]) -> None:
        self.rules = rules
        self.hits = {op: 0 for op, gradient in rules.items() if gradient is not None}


class State:
    """The rules in force at one place, and which layer each came from. Immutable.

    Attributes:
        rules: the rules in force.
    """

    __slots__ = ("_owners", "_store", "rules")

    def __init__(self, store: Store, owners: Mapping[str, Layer]) -> None:
        self._store = store
        self._owners = dict(owners)
        self.rules = RuleSet({op: g for op, layer in owners.items() if (g := layer.rules[op]) is not None})

    def captured(self, op: str, *, kept: bool = True) -> None:
        """Count one capture of ``op`` under these rules.

        Args:
            op: the op's name.
            kept: whether what was captured may run again without being seen, as what a compiler traces.
                An override of the same gradient then never warns that it captured nothing.
        """
        layer = self._owners[op]
        with self._store.lock:
            layer.hits[op] += 1
            if not kept:
                return
            if len(self._store.seen) >= _REMEMBERED:
                self._store.seen.clear()
            self._store.seen.add((op, self.rules[op].digest))

    def _under(self, layers: tuple[Entry, ...]) -> State:
        owners = dict(self._owners)
        for entry in layers:
            if entry.alive:
                owners.update(dict.fromkeys(entry.layer.rules, entry.layer))
        return State(self._store, owners)


class Entry:
    """One entering of a layer, in a thread; ``alive`` until left. ``hits`` is how many it had before."""

    __slots__ = ("alive", "hits", "layer", "thread")

    def __init__(self, layer: Layer) -> None:
        self.layer = layer
        self.thread = threading.get_ident()
        self.alive = True
        self.hits = sum(layer.hits.values())


def _alive(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """Without those that were left from another context."""
    return tuple(entry for entry in entries if entry.alive)


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
        state = (self.base or process)._under(self.entries)
        self.memo = (process, state)
        return state


class Store:
    """All overrides of one backend that are alive.

    Args:
        apply: called after every change with the rules now in force in the scope that changed;
            ``None`` says that nothing context-local is left. If it raises, the change is taken back.
    """

    def __init__(self, apply: Callable[[RuleSet | None, Scope], None]) -> None:
        self.lock = threading.RLock()
        self.seen: set[tuple[str, str]] = set()
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

    def is_foreign(self) -> bool:
        """Whether what is in force here came with a copy of another thread's context.

        A backend that tells its framework by thread must not leave such rules behind in this thread.
        """
        local = self._local.get()
        return local is not None and local.thread != threading.get_ident()

    # -- process-wide ------------------------------------------------------------------------

    def install(self, layer: Layer) -> None:
        """Put a layer on top of the process-wide stack."""
        self._set_process(lambda layers: (*layers, layer))

    def uninstall(self, layer: Layer) -> None:
        """Take a layer out of the process-wide stack, wherever it lies."""
        to_its_end(self._set_process, lambda layers: tuple(other for other in layers if other is not layer))

    def _set_process(self, change: Callable[[tuple[Layer, ...]], tuple[Layer, ...]]) -> None:
        with self.lock:
            before = self._layers, self._process
            self._layers = change(self._layers)
            self._process = self._nothing._under(tuple(map(Entry, self._layers)))
            try:
                self._apply(self._process.rules, "process")
            except BaseException:
                self._layers, self._process = before
                self._apply(self._process.rules, "process")
                raise

    # -- this context ------------------------------------------------------------------------

    @untraced
    def push(self, layer: Layer, entry: Entry | None = None) -> Entry:
        """Put a layer on top of this context's stack, as this entry or a new one."""
        before, entry = self._local.get(), entry or Entry(layer)
        base, entries = (None, ()) if before is None else (before.base, _alive(before.entries))
        try:
            self._set_local(_Local(base, (*entries, entry)), before)
            return entry
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
                self._process = self._nothing._under(
                    tuple(map(Entry, self._layers))
                )  # a new state: resolve again
            return
        left = tuple(other for other in _alive(local.entries) if other is not entry)
        self._set_local(_Local(local.base, left) if left or local.base is not None else None, local)

    @untraced
    @contextmanager
    def exactly(self, state: State | None) -> Iterator[None]:
        """In this context use exactly these rules, whatever is in force around; None: no rules."""
        before = self._local.get()
        try:
            self._set_local(_Local(state or self._nothing, ()), before)
            yield
        finally:
            self._set_local(before, self._local.get())

    def _set_local(self, local: _Local | None, before: _Local | None) -> None:
        self._local.set(local)
        try:
            self._apply(None if local is None else local.resolve(self._process).rules, "context")
        except BaseException:
            self._local.set(before)
            self._apply(None if before is None else before.resolve(self._process).rules, "context")
            raise


def to_its_end(undo: Callable[[T], R], what: T) -> R:
    """End an override. An interrupt (Ctrl-C) meanwhile is raised after that, not in its place."""
    try:
        return undo(what)
    except Exception:
        raise
    except BaseException:
        undo(what)
        raise
