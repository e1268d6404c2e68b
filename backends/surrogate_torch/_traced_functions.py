"""Whole functions while torch.compile reads the user's code.

The compiler reads the stand-in of an exchanged function like any other. What the stand-in calls is
replaced for it by :func:`dispatched`, which it can read too; what must be decided now is asked of
functions that it calls and does not read. Each frame that reads such a function, its stand-in or its own
code, gets a guard of the function's gradient.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx.traceback import annotate

import surrogate
from surrogate import FunctionKit, FunctionPull
from surrogate_torch import _graft, _guards, _hooks
from surrogate_torch._functions import Functions
from surrogate_torch._scope import Scope

Array = Any


class _Read:
    """What :func:`dispatched` reads, as attributes: the compiler guards those that it reads, one by one."""


class TracedFunctions(Functions):
    """The steps of a function's call in code that the compiler can read."""

    def __init__(self) -> None:
        pass

    def recording(self, leaves: Sequence[Any]) -> bool:
        return True  # without a gradient to record the operators pass on

    def wants(self, arrays: Sequence[Array]) -> bool:
        return True

    def depends(self, values: Sequence[Array]) -> bool:
        for value in values:  # noqa: SIM110 -- the compiler reads it
            if value.requires_grad:
                return True
        return False

    def without_rules(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        with annotate(_guards.REGION):
            return function(*args, **kwargs)

    def with_formula(
        self, pull: FunctionPull, inputs: Sequence[Array], values: Sequence[Array], closed: str = ""
    ) -> list[Array]:
        token = _remembered(pull.digest, pull.names, pull.attributes)
        return _graft.pull(list(inputs), [value.detach() for value in values], token)


_KIT = TracedFunctions()


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _decided(path: str) -> tuple[str, str]:
    """Where the function is to be read, and its gradient in the frame being compiled; empty for none."""
    scope = _scope()
    state = scope.state()
    gradient: Any = state.rule(path, scope.site())
    _guards.note(path, gradient, scope)
    native = FunctionKit.native(path)
    function = f"function_{id(native):x}"
    setattr(_Read, function, staticmethod(native))
    if gradient is None:
        return function, ""
    _guards.count(state, path, scope)
    setattr(_Read, f"gradient_{gradient.digest}", gradient)
    return function, f"gradient_{gradient.digest}"


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _remembered(digest: str, names: Any, attributes: Any) -> str:
    return _graft.remember(FunctionPull(getattr(_Read, f"gradient_{digest}"), names, attributes))


@functools.cache
def _scope() -> Scope:
    return Scope(surrogate.load_backend("torch"))


@torch.compiler.substitute_in_graph(  # type: ignore[untyped-decorator]
    FunctionKit.dispatch, skip_signature_check=True
)
def dispatched(path: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the compiler reads in place of what a stand-in calls."""
    function, gradient = _decided(path)
    native = getattr(_Read, function)
    if not gradient:
        return native(*args, **kwargs)
    return _KIT.run(getattr(_Read, gradient), native, args, kwargs)[0]


def _noting(native: Callable[..., Any]) -> Callable[..., Any]:
    """What Dynamo calls before it reads a function that another calls: those ever overridden are noted."""

    def build_inline_tracer(parent: Any, func: Any, *args: Any, **kwargs: Any) -> Any:
        for path in FunctionKit.paths([func.get_code()]):
            scope = _scope()
            _guards.note(path, scope.state().rule(path, scope.site()), scope)
        return native(parent, func, *args, **kwargs)

    return build_inline_tracer


_hooks.probe(_hooks.FUNCTION_HOOKS)
_tracer: Any = _hooks.FUNCTION_HOOKS[0].owner()
_tracer.build_inline_tracer = staticmethod(_noting(_tracer.build_inline_tracer))
