"""Activation checkpoints: a recomputation runs under the rules that the forward pass saw.

PyTorch runs the checkpointed function again during the backward pass, when the override that was in
force may be over, or another one may have begun.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torch.utils import checkpoint

from surrogate import Backend
from surrogate_torch._scope import deferred


def bind_recomputations(backend: Backend) -> None:
    """Give PyTorch's two kinds of checkpoint the state of their forward pass; once per process."""
    reentrant = checkpoint.CheckpointFunction.forward
    frame_init = checkpoint._CheckpointFrame.__init__

    @functools.wraps(reentrant)
    def forward(ctx: Any, run_function: Callable[..., Any], preserve: bool, *args: Any) -> Any:
        # nothing is recorded now, but what runs here gets its rule when it runs again
        with deferred():
            return reentrant(ctx, bind(backend, run_function), preserve, *args)

    @functools.wraps(frame_init)
    def init(self: Any, recompute_fn: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        frame_init(self, bind(backend, recompute_fn), *args, **kwargs)

    checkpoint.CheckpointFunction.forward = staticmethod(forward)
    checkpoint._CheckpointFrame.__init__ = init


def bind(backend: Backend, function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, to be run under the rules in force now, wherever and whenever it is called."""
    state = backend.state()

    @functools.wraps(function)
    def bound(*args: Any, **kwargs: Any) -> Any:
        with backend.exactly(state):
            return function(*args, **kwargs)

    return bound
