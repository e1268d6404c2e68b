"""Surrogate gradients for PyTorch: eager, torch.func, torch.compile, TorchScript, distributed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import surrogate
from surrogate_torch import _hooks as _hooks  # it looks for what the other modules take at import

# isort: split
from surrogate_torch._attach import attach as attach
from surrogate_torch._backend import TorchBackend as TorchBackend
from surrogate_torch._fused import fused_windows as fused_windows

__all__ = ["TorchBackend", "attach", "bind", "fused_windows", "surrogate_backend"]

F = TypeVar("F", bound=Callable[..., Any])


@surrogate.hookimpl
def surrogate_backend(name: str) -> surrogate.Backend | None:
    """The backend ``"torch"``."""
    return TorchBackend() if name == "torch" else None


def bind(function: F) -> F:
    """``function`` under the rules that are in force now, wherever and whenever it is called.

    The name of 0.1 for ``surrogate.load_backend("torch").bound(function)``.
    """
    warnings.warn(
        'surrogate_torch.bind is deprecated: use surrogate.load_backend("torch").bound(function)',
        DeprecationWarning,
        stacklevel=2,
    )
    return surrogate.load_backend("torch").bound(function)
