"""The contract of a backend: one small class makes one framework obey rules."""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from types import FrameType
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from surrogate._active import Scope, Store
from surrogate._alive import Alive
from surrogate._driver import Driver, of_methods
from surrogate._errors import UnsupportedAuditError
from surrogate._function_call import FunctionKit, catch
from surrogate._holds import Holds
from surrogate._hook import Hook
from surrogate._native_kit import NativeKit
from surrogate._places import Callers, Site
from surrogate._ruleset import RuleSet
from surrogate._state import State

if TYPE_CHECKING:
    from surrogate.auditing import Trace  # imported only by who audits

Array = Any
Result = TypeVar("Result")
Function = Callable[..., Array]
F = TypeVar("F", bound=Callable[..., Any])


class Backend(abc.ABC):
    """What a plugin provides for one framework.

    A subclass says what it can do in class attributes, puts its hooks in with :meth:`first` and takes them
    out with :meth:`last`, or tells the framework in :meth:`apply`, reads the rules in force from
    :meth:`state` whenever an op is captured, and gives the conformance kit a :meth:`driver`.

    Rules are applied absolutely: the core keeps the stack of overrides, a backend keeps none.

    Attributes:
        name: the backend's name, as in ``surrogate.use(name)``.
        framework: the import name of the framework.
        tested: framework versions it was checked on, for messages.
        hooks: the names of the framework, mostly private ones, that it stands on.
        ops: names of the ops it can capture.
        unsupported: op name -> why the framework or the backend cannot do it.
        transforms: what it claims beyond plain reverse mode: any of ``"forward"``, ``"vmap"``,
            ``"compile"``, ``"second"`` (second derivatives), ``"residuals"``
            (:meth:`surrogate.Driver.residuals`), ``"learned"`` (:meth:`wants_gradient`) and ``"discrete"``
            (booleans and integers keep their origin: :meth:`surrogate.Driver.consumers`).
        dtypes: the float dtypes of the framework that it supports.
        subnormals: whether the framework keeps subnormal numbers (some flush them to zero).
        expected_failures: checks of the conformance kit, by id (``vjp[sign:hardtanh-float32-jit]``) or
            glob (``vjp[mod:*]``) -> why the framework cannot keep them. They must then fail.
        packages: import names of packages, beside the framework's own, whose code is not the user's: an op
            that is called there is judged by who called them.
        places: whether it asks :meth:`State.rule` about every op, so that ``within=`` and ``outside=`` hold.
        tracers: functions of the framework, as ``"module:name"``, that trace a function once for all its
            callers. An op that is called there by no code of the user's is nobody's, whoever calls first.
        xp: the namespace that formulas are evaluated over.
        functions: how whole functions are overridden, None: it cannot.
        natives: how the framework's own ops are overridden by their native names, None: it cannot.
    """

    name: str
    framework: str
    tested: str = ""
    hooks: Sequence[Hook] = ()
    ops: frozenset[str] = frozenset()
    unsupported: Mapping[str, str] = {}
    transforms: frozenset[str] = frozenset()
    dtypes: tuple[str, ...] = ("float32", "float64")
    subnormals: bool = True
    expected_failures: Mapping[str, str] = {}
    packages: tuple[str, ...] = ()
    places: bool = False
    tracers: tuple[str, ...] = ()
    xp: Any
    functions: FunctionKit | None = None
    natives: NativeKit | None = None

    # -- obeying -------------------------------------------------------------------------------

    def first(self) -> None:  # noqa: B027  (what is optional does nothing)
        """Something comes into force where nothing was in force anywhere: the place to put hooks in.

        Called once more if it was interrupted.

        Raises:
            IncompatibleFrameworkError: a hook is missing. The change is then taken back.
        """

    def last(self) -> None:  # noqa: B027  (what is optional does nothing)
        """Nothing is in force anywhere any more, in no thread and no context: the place to take them out."""

    def apply(self, rules: RuleSet | None, scope: Scope) -> None:  # noqa: B027  (as above)
        """The rules in force have changed to exactly ``rules``; an empty set restores the framework.

        For a framework that must be told of every change, as one whose caches are keyed by the rules.
        Called in the thread that made the change, after it. What an op obeys is always :meth:`state`.

        Args:
            rules: what is in force now. ``None`` with ``"context"``: nothing context-local is left
                here, the process-wide rules apply.
            scope: ``"process"`` when the process-wide rules changed, ``"context"`` when those of
                the current thread or async task did.

        Raises:
            IncompatibleFrameworkError: a hook is missing. The change is then taken back.
        """

    @cached_property
    def alive(self) -> Alive:
        """Whether anything is in force anywhere; ``alive.hold()`` says that something else is."""
        return Alive(lambda: self.first(), lambda: self.last())

    @cached_property
    def store(self) -> Store:
        """The overrides of this backend that are alive; kept by the core."""
        return Store(self._obey, self.callers, self.module_path)

    @cached_property
    def callers(self) -> Callers:
        """Tells the user's code on the stack from the framework's and ours."""
        own = type(self).__module__.partition(".")[0]
        names = {self.framework, *self.packages, "numpy", "surrogate", own} - {"__main__"}
        return Callers(names, self.original, self.tracers)

    def original(self, frame: FrameType) -> Site | None:
        """Where the code of a frame comes from, if the framework made it from a function of the user's."""
        return None

    def module_path(self, frame: FrameType) -> str:
        """The name of the module of a model whose forward this frame, or one around it, runs; or empty.

        For ``override(..., trace=True)``, which shows it.
        """
        return ""

    def _obey(self, rules: RuleSet | None, scope: Scope) -> None:
        self.apply(rules, scope)
        if self._is_told:
            self.alive.changed(rules, scope)
        if self.functions is not None:
            self._holds.changed(rules, scope)

    @cached_property
    def _is_told(self) -> bool:
        """Whether this backend wants to know of the first and the last."""
        mine = type(self)
        return mine.first is not Backend.first or mine.last is not Backend.last

    @cached_property
    def _holds(self) -> Holds:
        assert self.functions is not None
        return Holds(self.name, functools.partial(catch, self.functions))

    def state(self) -> State:
        """What is in force here and now: ``state().rule(op)``, ``state().captured(op)``."""
        return self.store.state()

    def exactly(self, state: State | None) -> AbstractContextManager[None]:
        """Run a block under exactly this state: the one a forward pass saw. ``None``: no rules at all.

        A rule's own functions run under ``exactly(None)``: they never see overrides.
        """
        return self.store.exactly(state)

    def under(
        self, state: State | None, function: Callable[..., Result], /, *args: Any, **kwargs: Any
    ) -> Result:
        """``function(*args, **kwargs)``, called under exactly this state; ``None``: no rules at all.

        As :meth:`exactly`, but whole also where an interrupt (Ctrl-C) falls between the call and its end.
        """
        return self.store.under(state, function, args, kwargs)

    def bound(self, function: F) -> F:
        """``function`` under the rules that are in force now, wherever and whenever it is called.

        For code that runs a forward pass again during the backward pass, when the override may be over.
        """
        return self.bound_to(self.state(), function)

    def bound_to(self, state: State | None, function: F) -> F:
        """As :meth:`bound`, under exactly this state; ``None``: no rules at all."""

        @functools.wraps(function)
        def bound(*args: Any, **kwargs: Any) -> Any:
            return self.under(state, function, *args, **kwargs)

        return cast(F, bound)

    def wants_gradient(self, value: Any) -> bool:
        """Whether an array, given as the parameter of a gradient, wants a gradient itself.

        Such a parameter is one of :attr:`Rule.learned`: the backend gives the rule its ``tensor`` as one more
        input, and the cotangent that it gets back to that.
        """
        return False

    def bare(self, value: Any) -> Any:
        """The value of such a parameter as NumPy reads it, or itself; its range is checked."""
        return value

    # -- for the audit -------------------------------------------------------------------------

    def record(
        self,
        fn: Function,
        args: Sequence[Any],
        *,
        loss: Function | None = None,
        wrt: Any = None,
        argnums: int | Sequence[int] = 0,
        light: bool = False,
    ) -> Trace:
        """Run ``fn(*args)`` once, forward and backward, and return every call of an op with its numbers.

        Optional: what :func:`surrogate.audit` stands on. The program is left as it was (random state,
        buffers, variables, gradients, switches of the process), on any exception too. An error of the
        program's own propagates; what was recorded until then is its attribute ``surrogate_trace``.

        Args:
            fn: a function or model of the framework.
            args: its arguments.
            loss: makes the loss of what ``fn`` returns. An output that is not one number is reduced by a
                fixed random projection, never by a plain sum.
            wrt: what the loss is differentiated by; the framework's own idea of it if None.
            argnums: arguments to differentiate by, where the framework has no better idea.
            light: keep no array alive that the program itself would let go.

        Raises:
            UnsupportedAuditError: this backend cannot.
        """
        raise UnsupportedAuditError(_no_audit(self, "record"))

    def intercept(self, caught: Callable[[Trace], None], *, step: int = 1) -> AbstractContextManager[None]:
        """Watch the program that runs in the block, and record the ``step``-th gradient that it asks for.

        Optional: what the command ``surrogate audit`` stands on. ``caught`` gets the trace; it may raise
        to stop the program, else the gradient is computed as if nobody had watched.

        Raises:
            UnsupportedAuditError: this backend cannot.
        """
        raise UnsupportedAuditError(_no_audit(self, "intercept"))

    def driver(self) -> Driver:
        """How the conformance kit drives the framework; of a module of its own, which only the kit loads."""
        return of_methods(self)

    # -- one for the process ---------------------------------------------------------------------

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> Any:
        from surrogate._plugins import load_backend  # which imports this module

        return load_backend, (self.name,)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"


def _no_audit(backend: Backend, method: str) -> str:
    return f"the backend {backend.name!r} cannot be audited: its class has no method {method!r}."
