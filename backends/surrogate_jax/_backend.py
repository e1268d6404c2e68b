"""JAX as a backend: what it claims, how it is told of rules, and how the conformance kit drives it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

import jax

import surrogate
from surrogate_jax import _discrete, _namespace, _scope, _sparse
from surrogate_jax._functions import Functions
from surrogate_jax._hooks import HOOKS, SPARSE_HOOKS, TESTED, TRACERS, check, hide_our_frames
from surrogate_jax._install import install
from surrogate_jax._keys import Key
from surrogate_jax._learned import wants_gradient
from surrogate_jax._natives import Natives
from surrogate_jax._probe import probe
from surrogate_jax._spellings import OPS
from surrogate_jax._tasks import follow_tasks, loop_is_running

if TYPE_CHECKING:
    from surrogate.auditing import Trace  # imported only by who audits

Array = Any
Result = TypeVar("Result")
Function = Callable[..., Array]


class JaxBackend(surrogate.Backend):
    """Ops are caught while JAX traces them, and staged as a primitive that carries the rule."""

    name = "jax"
    framework = "jax"
    tested = TESTED
    hooks = HOOKS + SPARSE_HOOKS
    ops = OPS | _discrete.OPS
    transforms = frozenset({"forward", "vmap", "compile", "second", "residuals", "learned", "discrete"})
    subnormals = False  # XLA flushes them on the CPU in every dtype but float16
    packages = ("jaxlib",)
    places = True
    tracers = TRACERS
    xp = _namespace

    @property
    def dtypes(self) -> tuple[str, ...]:  # type: ignore[override]
        """The float dtypes there are: 64 bits only where ``jax_enable_x64`` is on."""
        narrow = ("float16", "bfloat16", "float32")
        return (*narrow, "float64") if jax.config.jax_enable_x64 else narrow

    def __init__(self) -> None:
        check()
        self.functions, self.natives = Functions(self), Natives(self)
        hide_our_frames()
        with ExitStack() as undo:  # if it cannot be used nothing of it stays
            undo.callback(setattr, Key, "state", getattr(Key, "state", self.state))
            Key.state = self.state
            for hook in install(self):
                undo.callback(hook)
            self._sparse = undo.enter_context(_sparse.taught())
            probe(self)
            undo.pop_all()

    def apply(self, rules: surrogate.RuleSet | None, scope: str) -> None:
        """Put the rules into the keys JAX caches under; the hooks read :meth:`state`."""
        if scope == "process":
            assert rules is not None
            _scope.set_process(rules)
        else:
            _scope.set_local(None if self.store.is_foreign() else rules)
            if rules is not None and loop_is_running():
                follow_tasks(self)

    def under(
        self,
        state: surrogate.State | None,
        function: Callable[..., Result],
        /,
        *args: Any,
        **kwargs: Any,
    ) -> Result:
        """As it is where this state is in force and in JAX's keys: another key would trace it anew."""
        if state is not None and self.state() is state and _scope.agrees(state):
            return function(*args, **kwargs)
        return super().under(state, function, *args, **kwargs)

    def wants_gradient(self, value: Any) -> bool:
        """A tracer: an argument of a function that is differentiated, or made of one."""
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
        """Trace the program, run it as one compiled function; ``wrt`` may name leaves of the arguments."""
        from surrogate_jax import _audit

        return _audit.record(fn, args, loss=loss, wrt=wrt, argnums=argnums)

    def module_path(self, frame: FrameType) -> str:
        """The path of the flax linen module whose method runs."""
        here: FrameType | None = frame
        while here is not None:
            # of methods only: reading f_locals leaves a copy behind, which would keep JAX's tracers alive
            method = here.f_code.co_varnames[:1] == ("self",)
            module = here.f_locals.get("self") if method else None
            if any(base.__module__ == "flax.linen.module" for base in type(module).__mro__):
                return "/".join(module.path) if module.scope is not None else ""  # type: ignore[union-attr]
            here = here.f_back
        return ""

    def intercept(self, caught: Callable[[Trace], None], *, step: int = 1) -> AbstractContextManager[None]:
        """Record the program whose gradient is asked for in the block."""
        from surrogate_jax._audit_watch import watching

        return watching(caught, step)

    def driver(self) -> surrogate.Driver:
        """How the conformance kit drives it."""
        from surrogate_jax._driver import JaxDriver  # only the kit pays for it

        return JaxDriver(self)
