"""The backend for HIPS autograd: the functions and operators of ``autograd.numpy``."""

from __future__ import annotations

import surrogate
from surrogate_autograd._backend import AutogradBackend

__all__ = ["AutogradBackend", "surrogate_backend"]


@surrogate.hookimpl
def surrogate_backend(name: str) -> AutogradBackend | None:
    """The backend, if it is asked for by its name."""
    return AutogradBackend() if name == "autograd" else None
