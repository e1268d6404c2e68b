"""A window's backward on large CPU tensors: select the upstream gradient or 0, at memory speed.

``torch.where`` with a mask that follows the data costs 13 copies of the tensor on a CPU: its loop
branches on every element. ``threshold_backward(g, m, 0)``, which is ``g`` where ``m > 0`` and 0
elsewhere, is vectorised; with the mask as ``m`` it gives the same numbers (an infinite or NaN ``g`` at
a closed place is 0, it is a selection) in 3 copies.
"""

from __future__ import annotations

from typing import Any

import torch

#: Below this the test costs more than it saves.
LARGE = 1 << 14


def is_large(x: Any) -> bool:
    """Whether a plain tensor is worth the test. (A compiler's stand-in is no plain tensor.)"""
    return type(x) is torch.Tensor and x.numel() >= LARGE


def can_select_fast(mask: Any, x: Any, y: Any) -> bool:
    """Whether ``where(mask, x, y)`` is "x or 0" of one dense shape, with nothing to record."""
    return (
        type(x) is torch.Tensor
        and type(y) is torch.Tensor
        and mask.device.type == "cpu"
        and not torch.is_grad_enabled()
        and not torch._C._are_functorch_transforms_active()
        and mask.shape == x.shape == y.shape
        and x.dtype == y.dtype
        and x.layout is torch.strided
        and x.is_floating_point()
        and _is_one_zero(y)
    )


def _is_one_zero(y: Any) -> bool:
    """Whether ``y`` is a single stored 0 that is repeated, as ``zeros_like`` of the namespace makes it."""
    return not any(y.stride()) and y[(0,) * y.dim()].item() == 0


def select_or_zero(mask: Any, x: Any) -> Any:
    """``x`` where ``mask`` holds, 0 elsewhere."""
    return torch.ops.aten.threshold_backward(x, mask.to(x.dtype), 0)
