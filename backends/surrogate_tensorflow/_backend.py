"""The backend for TensorFlow and Keras."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar, cast

import surrogate
from surrogate_tensorflow import _composites, _generated, _hooks, _install, _namespace, _probe, _types
from surrogate_tensorflow._attach import Attachments
from surrogate_tensorflow._carrier import carry
from surrogate_tensorflow._discrete import Discrete
from surrogate_tensorflow._functions import Functions
from surrogate_tensorflow._learned import wants_gradient
from surrogate_tensorflow._natives import Natives
from surrogate_tensorflow._scope import Scope
from surrogate_tensorflow._spellings import OPS

if TYPE_CHECKING:
    from surrogate.auditing import Trace  # imported only by who audits
    from surrogate_tensorflow._audit_recorder import Recorder

F = TypeVar("F", bound=Callable[..., Any])


class TensorFlowBackend(surrogate.Backend):
    """Makes TensorFlow's ops obey rules: eager, in graphs, in compiled functions and in Keras."""

    name = "tensorflow"
    framework = "tensorflow"
    tested = _hooks.TESTED
    hooks = _hooks.HOOKS
    ops = OPS
    transforms = frozenset({"forward", "vmap", "compile", "second", "residuals", "learned", "discrete"})
    dtypes = ("float16", "bfloat16", "float32", "float64")
    subnormals = False
    packages = ("keras", "tf_keras")
    places = True
    tracers = ("tensorflow.python.framework.func_graph:func_graph_from_py_func",)
    xp = _namespace
    recorder: Recorder | None = None  #: is told of captured ops while an audit runs

    def __init__(self) -> None:
        self.scope = Scope(self)
        self.functions, self.natives = Functions(self), Natives()
        _composites.install(self)
        self.discrete = Discrete(self)
        self.attachments = Attachments(self.scope, lambda: self.alive.hold())
        self.carry = functools.partial(carry, self)
        self._switch = _install.switcher(self)
        self._refused: BaseException | None = None
        try:
            _install.install(self)
            _probe.probe(self, self._refuse)
        except BaseException:
            _install.uninstall()
            raise

    def first(self) -> None:
        """The hooks that cost something go in."""
        self.scope.alive = True
        self._switch(True)

    def last(self) -> None:
        """They come out."""
        self.scope.alive = False
        self._switch(False)

    def apply(self, rules: surrogate.RuleSet | None, scope: str) -> None:
        """Op types that rules are about are watched from now on.

        Raises:
            IncompatibleFrameworkError: the check of eager mode failed when TensorFlow's runtime came up.
        """
        if self._refused is not None and rules:
            raise self._refused
        _types.watch_discrete(rules or ())

    def bound(self, function: F) -> F:
        """``function`` under what is in force now, ``gradient_override_map`` too."""
        return cast(F, self.scope.bound(self.scope.here(), function))

    def original(self, frame: FrameType) -> surrogate.Site | None:
        """The function that autograph made this one of."""
        return _generated.original(frame)

    def module_path(self, frame: FrameType) -> str:
        """The path of the Keras layer that is being called."""
        return _generated.module_path(frame)

    def _refuse(self, error: BaseException) -> None:
        """Leave TensorFlow as it was, for good."""
        self._refused = error
        self._switch(False)
        self._switch = lambda on: None
        _install.uninstall()

    def classic(self, name: str, node: Any) -> Any:
        """The registered gradient ``name`` as a backward function of ``node``, run with no rules."""
        return self.scope.suspending(_types.classic(name, node))

    def wants_gradient(self, value: Any) -> bool:
        """A variable that is trained, a tensor that a tape watches, or one of a graph."""
        return wants_gradient(value)

    def record(
        self,
        fn: Any,
        args: Sequence[Any],
        *,
        loss: Any = None,
        wrt: Any = None,
        argnums: int | Sequence[int] = 0,
        light: bool = False,
    ) -> Trace:
        """Run the program eagerly; ``wrt`` are variables, tensors, or names of what it reads."""
        from surrogate.auditing import NothingReturnedError
        from surrogate_tensorflow._audit import Audited

        audited = Audited(self, fn, args, loss, wrt)
        try:
            return audited.trace()
        except NothingReturnedError:
            from surrogate_tensorflow._audit_watch import watching

            return audited.asked(functools.partial(watching, self, step=1, put_back=True))

    def intercept(self, caught: Callable[[Trace], None], *, step: int = 1) -> AbstractContextManager[None]:
        """Record the program whose gradient is asked for in the block."""
        from surrogate_tensorflow._audit_watch import watching

        return watching(self, caught, step)

    def driver(self) -> surrogate.Driver:
        """How the conformance kit drives it."""
        from surrogate_tensorflow._driver import TensorFlowDriver  # only the kit pays for it

        return TensorFlowDriver(self)
