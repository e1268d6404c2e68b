"""PyTorch's grad modes for one call, put back whenever an interrupt comes.

PyTorch's own context managers are classes in Python, and an interrupt before the first line of their
``__exit__`` leaves the mode behind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_is_grad_enabled, _set_grad_enabled = torch.is_grad_enabled, torch._C._set_grad_enabled
_is_forward_enabled, _set_forward_enabled = torch._C._is_fwd_grad_enabled, torch._C._set_fwd_grad_enabled


def in_grad(enabled: bool, function: Callable[..., Any], *args: Any) -> Any:
    """``function(*args)`` with reverse mode recording or not."""
    before = _is_grad_enabled()
    try:
        _set_grad_enabled(enabled)
        return function(*args)
    finally:
        _set_grad_enabled(before)


def in_forward(enabled: bool, function: Callable[..., Any], *args: Any) -> Any:
    """``function(*args)`` with forward mode recording or not."""
    before = _is_forward_enabled()
    try:
        _set_forward_enabled(enabled)
        return function(*args)
    finally:
        _set_forward_enabled(before)
