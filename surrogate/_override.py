"""``use`` and ``override``: a setting for the process, and a scope that other threads never see."""

from __future__ import annotations

import functools
import pickle
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Self, TypeVar, Unpack

from surrogate._backend import Backend
from surrogate._captures import Captures
from surrogate._compare import expanded
from surrogate._decorate import Inside, decorate
from surrogate._ending import Exit, begins, to_its_end
from surrogate._errors import NothingCapturedWarning, ScopeError, SpecError, UnsupportedOpError
from surrogate._gradient import Gradient
from surrogate._keys import resolve_other
from surrogate._names import BackendName, NamedRules
from surrogate._places import Places, Site, read_places
from surrogate._plugins import load_backend
from surrogate._registry import Spec, registry
from surrogate._rules import gathered, read_rules
from surrogate._ruleset import RuleSet
from surrogate._spec import NATIVE
from surrogate._standing import caller, place_of, replaces, stands
from surrogate._state import Entry, Layer
from surrogate._untraced import untraced
from surrogate._unused import warn_if_changed, warn_if_unmet, warn_if_unused

F = TypeVar("F", bound=Callable[..., Any])
Rules = NamedRules | Mapping[str, Spec]
BackendLike = BackendName | str | Backend | ModuleType
#: Code by its dotted name, or as the module, class or function itself; or several.
Where = Any


class Override:
    """Rules in force over a stretch of time or code.

    Attributes:
        backend: name of the backend it belongs to.
    """

    @untraced
    def __init__(
        self,
        backend: BackendLike,
        rules: Rules | None = None,
        *,
        within: Where | None = None,
        outside: Where | None = None,
        trace: bool = False,
        **by_name: Unpack[NamedRules],
    ) -> None:
        rules = gathered(rules, by_name)
        self._backend = load_backend(backend)
        self.backend = self._backend.name
        places = _judged(self._backend, read_places(within, outside))
        self._layer = Layer(_resolve(self._backend, rules), places, bool(trace))
        self._layer.where = place_of(caller())

    @property
    def rules(self) -> Mapping[str, Gradient]:
        """The gradients it puts in force, by op; ops it leaves ``"native"`` are not in it."""
        return MappingProxyType({op: g for op, g in self._layer.rules.items() if g is not None})

    @property
    def hits(self) -> Counter[str]:
        """How often each op was captured: got this override's gradient while one was recorded.

        A compiled function counts each place in its code again when it is called; in JAX once per block.
        """
        with self._backend.store.lock:
            return Counter(self._layer.hits)

    @property
    def captures(self) -> Captures:
        """Where its ops were captured, and what of them was not and why; filled under ``trace=True``.

        A row has op, gradient, file, line, function, module path, count and why.
        """
        return self._layer.captures()

    def _warn_if_unused(self, stacklevel: int, before: int = 0) -> None:
        """Warn if it has captured nothing since it had ``before`` hits, or names code that was never met."""
        warn_if_changed(self._layer, stacklevel + 1)
        warn_if_unused(self._backend, self._layer, before, stacklevel + 1)
        warn_if_unmet(self._backend, self._layer, stacklevel + 1)

    @property
    def _asked(self) -> dict[str, Spec]:
        """What it was made of: a gradient or ``"native"`` by op."""
        return {op: NATIVE if g is None else g for op, g in self._layer.rules.items()}

    @property
    def _options(self) -> dict[str, Any]:
        places = self._layer.places
        named = {} if places is None else {"within": places.within, "outside": places.outside}
        return {**{word: names for word, names in named.items() if names}, "trace": self._layer.trace}

    def __repr__(self) -> str:
        specs = {op: g.spec if isinstance(g, Gradient) else g for op, g in self._asked.items()}
        places = f" {self._layer.places}" if self._layer.places else ""
        return f"<{type(self).__name__} {self.backend} {specs}{places}>"

    def __str__(self) -> str:
        first = self._layer.first or {}
        hits = [f"{op} {count}{_first(first.get(op))}" for op, count in self.hits.items()]
        table = f"\n{self.captures}" if self._layer.trace else ""
        return f"{self!r} captured: {', '.join(hits) or 'nothing'}{table}"

    def _repr_html_(self) -> str:
        from surrogate._override_html import as_html  # only a notebook asks for it

        return as_html(self)

    def __rich_repr__(self) -> Any:
        yield self.backend
        yield "rules", dict(self.rules)
        yield "hits", dict(self.hits)
        if self._layer.trace:
            yield "captures", list(self.captures)


def _first(site: Site | None) -> str:
    """Where an op was captured first, for a line."""
    return f" ({Path(site.file).name}:{site.line})" if site else ""


class ProcessOverride(Override):
    """What :func:`surrogate.use` returns: in force in every thread until undone."""

    @untraced
    def __init__(self, backend: BackendLike, rules: Rules | None = None, **options: Any) -> None:
        super().__init__(backend, rules, **options)
        self._alive = False

    @untraced
    def _install(self) -> Self:
        try:
            self._alive = True
            stands(self._backend)
            self._backend.store.install(self._layer)
            replaces(self._backend.store, self._layer, caller())
            return self
        except BaseException:
            self._undo(warn=False, stacklevel=0)  # interrupted here, nobody could undo it
            raise

    @untraced
    def undo(self) -> None:
        """Go back to what is left without this override. Undoing twice does nothing."""
        self._undo(warn=True, stacklevel=3)

    def _undo(self, *, warn: bool, stacklevel: int) -> None:
        if to_its_end(ProcessOverride._end, self) and warn:
            self._warn_if_unused(stacklevel)

    @property
    def _is_alive(self) -> bool:
        """Whether it is in force: neither undone, nor taken out by :func:`surrogate.reset`."""
        return self._alive and self._layer in self._backend.store.layers()

    def _end(self) -> bool:
        """Whether it was in force until now. Where this fails, it still is, and can be undone again."""
        with self._backend.store.lock:
            was = self._is_alive
            if was:
                self._backend.store.uninstall(self._layer)
                self._alive = False
            return was

    def __call__(self, function: object) -> Any:
        """Refuse to decorate: what is in force everywhere cannot be so in one function."""
        self._undo(warn=False, stacklevel=3)  # as a decorator nobody else holds it
        raise SpecError(
            "surrogate.use(...) is a setting of the process and decorates nothing; it was undone. "
            "Decorate with surrogate.override(...)."
        )

    def __reduce__(self) -> Any:
        raise pickle.PicklingError(
            "what surrogate.use(...) returns belongs to this process and cannot be pickled or copied: call "
            "surrogate.use(...) in the other process, or keep a surrogate.override(...), which can be."
        )

    @untraced
    def __enter__(self) -> Self:
        begins(self, self)
        if not self._is_alive:
            raise ScopeError("this override was undone; call surrogate.use(...) again.")
        return self

    def _leave(self, entry: object, kind: type[BaseException] | None) -> None:
        self._undo(warn=kind is None, stacklevel=4)

    __exit__ = Exit(_leave)


class ScopedOverride(Override):
    """What :func:`surrogate.override` returns: a context manager and decorator, for this context only.

    It may be entered again and again, also while it is entered. Copied, or pickled into another process, it
    is a new one of the same rules that is not entered.
    """

    @untraced
    def __init__(self, backend: BackendLike, rules: Rules | None = None, **options: Any) -> None:
        super().__init__(backend, rules, **options)
        self._entered: list[Entry] = []
        self._unused = True

    def __del__(self) -> None:
        if getattr(self, "_unused", False) and not sys.is_finalizing():
            file, _, line = self._layer.where.rpartition(":")
            warnings.warn_explicit(
                f"this override of {', '.join(self._layer.rules)} for {self.backend!r} was never entered: "
                "write 'with surrogate.override(...):' around the code that it is for, or surrogate.use(...) "
                "for the whole process.",
                NothingCapturedWarning,
                file,
                int(line),
            )

    @property
    def rules(self) -> Mapping[str, Gradient]:
        """The gradients it puts in force, by op; ops it leaves ``"native"`` are not in it."""
        self._unused = False  # who looks at it knows of it
        return super().rules

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[Backend, Rules]]:
        self._unused = False
        return functools.partial(type(self), **self._options), (self._backend, self._asked)

    @untraced
    def __enter__(self) -> Self:
        entry = Entry(self._layer)
        begins(self, entry)
        self._unused = False
        stands(self._backend)
        try:
            self._backend.store.push(self._layer, entry)
            self._entered.append(entry)
        except BaseException:
            self._backend.store.pop(entry)  # interrupted here, nobody would leave it
            raise
        return self

    def _leave(self, entry: Entry | None, kind: type[BaseException] | None) -> None:
        left = [] if entry is None else [entry]
        try:
            to_its_end(self._end, left)
        except Exception:
            self._entered += left  # still in force: it can be left again
            raise
        if kind is None:
            self._warn_if_unused(stacklevel=3, before=left[0].hits)

    def _end(self, left: list[Entry]) -> None:
        """End one entering, that in ``left`` or the last; called again where it was interrupted."""
        store = self._backend.store
        with store.lock:
            if not left:
                if not self._entered:
                    raise ScopeError("this override is not entered.")
                # ours, if this context has one; else a generator that was entered elsewhere is being closed
                here = [entry for entry in self._entered if store.holds(entry)]
                left.append((here or self._entered)[-1])
            if left[0] in self._entered:
                self._entered.remove(left[0])
        store.pop(left[0])

    __exit__ = Exit(_leave)

    @property
    def inside(self) -> Inside:
        """Makes blocks that run inside this override and warn of nothing: for compilers, which trace them."""
        self._unused = False
        return Inside(self._backend.store, self._layer)

    def __call__(self, function: F) -> F:
        """Decorate: every call of ``function`` runs inside the override.

        A coroutine function is inside while its task runs it. A generator function is inside while
        its own body runs, and outside while it is suspended.

        Raises:
            SpecError: ``function`` is not callable, or is an asynchronous generator function.
        """
        decorated = decorate(self._backend.store, self._layer, function)
        self._unused = False
        return decorated


@untraced
def use(
    backend: BackendLike,
    rules: Rules | None = None,
    *,
    within: Where | None = None,
    outside: Where | None = None,
    trace: bool = False,
    **by_name: Unpack[NamedRules],
) -> ProcessOverride:
    """Put gradients in force for the whole process, from here on, in every thread.

    Args:
        backend: ``"torch"``, ``"tensorflow"``, ``"jax"``, ``"autograd"`` or a plugin's name; ``"keras"``, the
            backend that Keras uses; or the framework's module.
        rules: op -> spec (a string like ``"hardtanh(width=1.5)"``, a :class:`Gradient`, a function of
            the registered form, or ``"native"``: leave this op alone). Without it,
            :func:`surrogate.defaults`.
        within: dotted names of the modules, packages, classes, functions or methods in whose code the rules
            hold, as ``"mynet"`` or a list. An op is judged by the nearest code on the stack that is not the
            framework's.
        outside: the same, of code in which they do not hold: ``["kornia", "torch_sim.neighbors"]``.
        trace: record where each op is captured, see ``captures``.
        by_name: rules by the op's name, ``use("torch", sign="hardtanh")``.

    Returns:
        A handle: ``undo()`` goes back, in any order; as a context manager it undoes at the end of the
        block. It has ``rules``, ``hits`` and ``captures``; printing it tells where it caught.

    Raises:
        UnknownBackendError, MissingFrameworkError, BrokenBackendError, IncompatibleFrameworkError:
            the backend cannot be had; says what to do.
        UnknownOpError, UnknownGradientError, UnknownParameterError: a name nobody registered.
        ParameterError, SpecError: a value that cannot be used.
        UnsupportedOpError: this backend cannot capture the op; says why.

    Whatever is raised, nothing was installed.
    """
    made = ProcessOverride(backend, rules, within=within, outside=outside, trace=trace, **by_name)
    if rules is None and not by_name:  # who named no op is told where the defaults caught
        made._layer.first = {}
    return made._install()  # the last step: from then on there is a handle


@untraced
def override(
    backend: BackendLike,
    rules: Rules | None = None,
    *,
    within: Where | None = None,
    outside: Where | None = None,
    trace: bool = False,
    **by_name: Unpack[NamedRules],
) -> ScopedOverride:
    """Put gradients in force over a block or a function, in this thread or async task only.

    The gradient is decided when the op runs: a backward pass that runs after the block, or in another
    thread, still uses it. Blocks nest and the inner one wins. In a generator that is suspended inside a
    block the caller sees the override until the generator goes on or is closed (as with
    ``numpy.errstate``); decorating the generator function instead keeps it inside.

    Args:
        backend: as for :func:`surrogate.use`.
        rules, within, outside, trace, by_name: as for :func:`surrogate.use`.

    Returns:
        A context manager and decorator with ``rules``, ``hits`` and ``captures``. It is inert until entered.

    Warns:
        NothingCapturedWarning: when a block ends and none of its ops was captured in it, neither now nor by
            a compiled function that was called. Not from a decorated function; ``hits`` tells op by op.
        UnmetPlaceWarning: when a block ends and a name in ``within`` or ``outside`` is of no code that ever
            called one of its ops.

    It raises what :func:`surrogate.use` raises, here and not when the block is entered.
    """
    return ScopedOverride(backend, rules, within=within, outside=outside, trace=trace, **by_name)


def defaults(backend: BackendLike) -> dict[str, Gradient]:
    """The mapping that ``use(backend)`` installs: the recommended gradient of every op it can capture.

    Raises:
        UnknownBackendError, MissingFrameworkError, BrokenBackendError, IncompatibleFrameworkError:
            the backend cannot be had; says what to do.
    """
    found = load_backend(backend)
    return {
        op.name: registry.gradient(op.name, op.default)
        for op in registry.ops()
        if op.default is not None and op.name in found.ops
    }


def active(backend: BackendLike) -> RuleSet:
    """The rules in force here and now, as op -> gradient."""
    return load_backend(backend).store.state().rules


def _judged(backend: Backend, places: Places | None) -> Places | None:
    """``places``, if the backend looks at them."""
    if places is not None and not backend.places:
        raise UnsupportedOpError(
            f"the backend {backend.name!r} does not tell from where an op is called, so {places} would not "
            "hold: leave it out, and override around the code that is meant."
        )
    return places


def _resolve(backend: Backend, rules: Rules | None) -> Mapping[str, Gradient | None]:
    """Check all of ``rules`` before anything is installed."""
    if rules is None:
        return defaults(backend)
    found: dict[str, Gradient | None] = {}
    for name, spec in expanded(read_rules(rules)):
        known = registry.remembered(name, spec)
        if known is not None and name in backend.ops:
            found[name] = known
            continue
        if (other := resolve_other(backend, name, spec)) is not None:
            found.update([other])
            continue
        op = registry.op(name)
        if op.name not in backend.ops:
            reason = backend.unsupported.get(op.name, "it has no such operation")
            raise UnsupportedOpError(
                f"the backend {backend.name!r} cannot override {op.name!r}: {reason}. "
                f"It can: {', '.join(sorted(backend.ops))}."
            )
        found[op.name] = (
            None if isinstance(spec, str) and spec == NATIVE else registry.gradient(op.name, spec)
        )
    return found
