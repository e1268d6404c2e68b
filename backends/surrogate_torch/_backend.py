"""The PyTorch backend."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import FrameType, MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from surrogate import Backend, Driver, RuleSet, Site
from surrogate_torch import _checkpoint, _hooks, _namespace, _traced
from surrogate_torch._boundary import mark
from surrogate_torch._consumers import USED
from surrogate_torch._functions import Functions
from surrogate_torch._install import Installation
from surrogate_torch._layers import forget_compiled, is_unguarded
from surrogate_torch._learned import wants_gradient
from surrogate_torch._natives import Natives
from surrogate_torch._scope import flags
from surrogate_torch._spellings import DISCRETE, OPS

if TYPE_CHECKING:
    from surrogate.auditing import Trace

Function = Any
F = TypeVar("F", bound=Callable[..., Any])


class TorchBackend(Backend):
    """PyTorch: kernels of ours on the ``Autograd`` dispatch key of the ATen ops.

    Those of an op are put in place when it gets its first rule, and then stay; with no rules in force they
    pass on to PyTorch's own. Importing the package changes nothing.
    """

    name = "torch"
    framework = "torch"
    tested = _hooks.TESTED
    hooks = _hooks.HOOKS + _hooks.COMPILER_HOOKS + _hooks.FUNCTION_HOOKS
    ops = OPS | DISCRETE
    transforms = frozenset({"forward", "vmap", "compile", "second", "residuals", "learned", "discrete"})
    dtypes = ("float16", "bfloat16", "float32", "float64")
    expected_failures = MappingProxyType(
        {
            "parameters[learned-*-forward_of_jit]": "PyTorch drops the tangents of what a compiled function "
            "is given before an override inside of it is entered"
        }
    )
    packages = ("functorch",)
    places = True
    xp = _namespace

    def __init__(self) -> None:
        mark(type(self))
        self.functions = Functions(self)
        self.natives = Natives(self)
        self._lock = threading.Lock()
        self._installation = Installation(self)
        self._installed: frozenset[str] = frozenset()  # the ops that have had a rule

    def apply(self, rules: RuleSet | None, scope: str) -> None:
        """Install the kernels if there is anything to obey; they read :meth:`state` by themselves."""
        if scope == "context":
            flags.local = rules is not None
        if is_unguarded():
            forget_compiled()
        if rules and not self._installed.issuperset(rules):
            with self._lock:
                self._install(frozenset(rules))
        if not DISCRETE.isdisjoint(self._installed) and DISCRETE.isdisjoint(rules or ()):
            self._installation.compares_no_more()

    def _install(self, ops: frozenset[str]) -> None:
        compares = not ops.isdisjoint(DISCRETE - self._installed)
        wanted = (ops | USED if compares else ops) - self._installed
        if wanted:
            self._installation.complete(wanted, self._installed)
        if compares:
            self._installation.complete_discrete()
            wanted |= DISCRETE
        self._installed |= wanted

    def bound(self, function: F) -> F:
        """``function`` under what is in force now, :func:`fused_windows` too."""
        return cast(F, _checkpoint.bind(self, function))

    def original(self, frame: FrameType) -> Site | None:
        """The function whose rest the compiler has made a function of, after a break in its graph."""
        return _traced.original(frame)

    def module_path(self, frame: FrameType) -> str:
        """The name of the ``nn.Module`` whose forward runs, in the outermost one that does."""
        return _traced.module_path(frame)

    def wants_gradient(self, value: Any) -> bool:
        """A tensor that requires a gradient, or an argument of a transform."""
        return wants_gradient(value)

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
        """Run a program for the audit, eagerly. ``argnums`` says nothing here: tensors require a gradient."""
        from surrogate.auditing import NothingReturnedError
        from surrogate_torch._audit import Audited  # only a program that is audited pays for it

        audited = Audited(fn, args, loss, wrt, lambda: self.exactly(None), light=light)
        try:
            return audited.trace()
        except NothingReturnedError:
            from surrogate_torch._audit_watch import watching

            return audited.asked(functools.partial(watching, step=1, native=lambda: self.exactly(None)))

    def intercept(self, caught: Callable[[Trace], None], *, step: int = 1) -> AbstractContextManager[None]:
        """Record what runs in the block until it asks for a gradient."""
        from surrogate_torch._audit_watch import watching

        return watching(caught, step, lambda: self.exactly(None))

    def driver(self) -> Driver:
        """How the conformance kit drives it."""
        from surrogate_torch._driver import TorchDriver  # only the kit pays for it

        return TorchDriver(self)
