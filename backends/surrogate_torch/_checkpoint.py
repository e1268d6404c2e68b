"""Activation checkpoints: a recomputation runs under the rules that the forward pass saw.

PyTorch runs the checkpointed function again during the backward pass, when the override that was in
force may be over, or another one may have begun.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torch.utils import checkpoint

from surrogate import Backend, State
from surrogate_torch import _fused
from surrogate_torch._scope import flags


def bind_recomputations(backend: Backend) -> None:
    """Give PyTorch's two kinds of checkpoint the state of their forward pass; once per process.

    A checkpoint whose forward ran before this had no rules: it runs again without any.
    """
    reentrant = checkpoint.CheckpointFunction.forward
    reentrant_backward = checkpoint.CheckpointFunction.backward
    frame_init = checkpoint._CheckpointFrame.__init__

    @functools.wraps(reentrant)
    def forward(ctx: Any, run_function: Callable[..., Any], preserve: bool, *args: Any) -> Any:
        # nothing is recorded now, but what runs here gets its rule when it runs again
        before, flags.deferred = flags.deferred, True
        try:
            return reentrant(ctx, bind(backend, run_function), preserve, *args)
        finally:
            flags.deferred = before

    @functools.wraps(reentrant_backward)
    def backward(ctx: Any, *args: Any) -> Any:
        ctx.run_function = _bound(backend, ctx.run_function)
        return reentrant_backward(ctx, *args)

    @functools.wraps(frame_init)
    def init(self: Any, recompute_fn: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        frame_init(self, bind(backend, recompute_fn), *args, **kwargs)

    def recompute_fn(self: Any) -> Callable[..., Any]:
        return _bound(backend, self.__dict__["recompute_fn"])

    def set_recompute_fn(self: Any, function: Callable[..., Any]) -> None:
        self.__dict__["recompute_fn"] = function

    checkpoint.CheckpointFunction.forward = staticmethod(forward)
    checkpoint.CheckpointFunction.backward = staticmethod(backward)
    checkpoint._CheckpointFrame.__init__ = init
    # read through a property, so that frames made before are seen too
    checkpoint._CheckpointFrame.recompute_fn = property(recompute_fn, set_recompute_fn)


def bind(backend: Backend, function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, to be run under the rules in force now, wherever and whenever it is called."""
    return _under(backend, backend.state(), _fused.chosen.get(), function)


def _bound(backend: Backend, function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` if it was bound, else bound to no rules: it was taken before any override began."""
    return function if hasattr(function, "_surrogate_state") else _under(backend, None, False, function)


def _under(
    backend: Backend, state: State | None, fused: bool, function: Callable[..., Any]
) -> Callable[..., Any]:
    @functools.wraps(function)
    def bound(*args: Any, **kwargs: Any) -> Any:
        with backend.exactly(state), _fused.choice(fused):
            return function(*args, **kwargs)

    bound._surrogate_state = state  # type: ignore[attr-defined]
    return bound
