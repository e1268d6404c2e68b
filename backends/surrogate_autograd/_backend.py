"""The backend for HIPS autograd."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from surrogate import Backend, Driver
from surrogate_autograd import _hooks, _namespace
from surrogate_autograd._functions import Functions
from surrogate_autograd._install import Installation
from surrogate_autograd._spellings import OPS, UNSUPPORTED

if TYPE_CHECKING:
    from surrogate.auditing import Trace

Function = Any


class AutogradBackend(Backend):
    """Makes ``autograd.numpy`` obey rules.

    While an override is alive anywhere, the functions of ``autograd.numpy`` that are ops have other
    code; they decide call by call. While none is, autograd is exactly as its authors made it, but for
    two functions that run the user's own function again later: they remember that nothing was in force.
    """

    name = "autograd"
    framework = "autograd"
    tested = _hooks.TESTED
    hooks = _hooks.HOOKS
    ops = OPS
    unsupported = UNSUPPORTED
    transforms = frozenset({"forward", "second", "residuals", "learned"})
    dtypes = ("float16", "float32", "float64")
    places = True
    xp = _namespace

    def __init__(self) -> None:
        self.functions = Functions(self)
        self._installation = Installation(self)

    def first(self) -> None:
        """The functions of ``autograd.numpy`` get other code."""
        self._installation.put_in()

    def last(self) -> None:
        """They get their own back."""
        self._installation.take_out()

    def wants_gradient(self, value: Any) -> bool:
        """A box: what is differentiated."""
        return bool(_hooks.isbox(value))

    def bare(self, value: Any) -> Any:
        """Out of all its boxes."""
        return _hooks.getval(value)

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
        """Run a program for the audit. NumPy's arrays are let go as the program lets them go anyway."""
        from surrogate_autograd._audit import Audited  # only a program that is audited pays for it

        return Audited(fn, args, loss, wrt, argnums).trace()

    def intercept(self, caught: Callable[[Trace], None], *, step: int = 1) -> AbstractContextManager[None]:
        """Record the program whose gradient is asked for in the block."""
        from surrogate_autograd._audit_watch import watching

        return watching(caught, step)

    def driver(self) -> Driver:
        """How the conformance kit drives it."""
        from surrogate_autograd._driver import AutogradDriver  # only the kit pays for it

        return AutogradDriver(self)
