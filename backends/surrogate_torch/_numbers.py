"""Python numbers in Tensor slots: ``x // 2`` reaches a kernel as ``(Tensor, int)``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def as_tensors(slots: Sequence[int], args: Sequence[Any]) -> list[Any]:
    """``args`` with numbers in Tensor slots made tensors that promote and round as the number would.

    A zero-dimensional float64 tensor beside a tensor with dimensions of any float dtype does not
    promote it, and enters the kernel with all its digits, as a number does.
    """
    tensor = next(args[slot] for slot in slots if isinstance(args[slot], torch.Tensor))
    exact = tensor.dim() > 0 and tensor.is_floating_point()
    return [
        torch.scalar_tensor(arg, dtype=torch.float64 if exact else torch.result_type(tensor, arg))
        if position in slots and not isinstance(arg, torch.Tensor)
        else arg
        for position, arg in enumerate(args)
    ]
