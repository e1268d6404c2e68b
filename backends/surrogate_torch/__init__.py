"""Surrogate gradients for PyTorch: eager, torch.func, torch.compile, TorchScript, distributed."""

from __future__ import annotations

import surrogate
from surrogate_torch._backend import TorchBackend as TorchBackend

__all__ = ["TorchBackend", "surrogate_backend"]


@surrogate.hookimpl
def surrogate_backend(name: str) -> surrogate.Backend | None:
    """The backend ``"torch"``."""
    return TorchBackend() if name == "torch" else None
