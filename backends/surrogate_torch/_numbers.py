"""Python numbers in Tensor slots: ``x // 2`` reaches a kernel as ``(Tensor, int)``."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch


def as_tensors(slots: Sequence[int], args: Sequence[Any]) -> list[Any]:
    """``args`` with numbers in Tensor slots made tensors that promote and round as the number would.

    A zero-dimensional float64 tensor beside a tensor with dimensions of any float dtype does not
    promote it, and enters the kernel with all its digits, as a number does. Where there are numbers alone,
    as in what PyTorch makes of a number before it meets a tensor, one is exact and several are usual.
    """
    tensor = next((args[slot] for slot in slots if isinstance(args[slot], torch.Tensor)), None)
    if tensor is None:
        make = _exact if len(slots) == 1 else torch.tensor
    elif tensor.dim() > 0 and tensor.is_floating_point():
        make = functools.partial(torch.scalar_tensor, dtype=torch.float64)
    else:
        make = functools.partial(_beside, tensor)
    return [
        make(arg) if position in slots and not isinstance(arg, torch.Tensor) else arg
        for position, arg in enumerate(args)
    ]


def _beside(tensor: torch.Tensor, number: Any) -> torch.Tensor:
    return torch.scalar_tensor(number, dtype=torch.result_type(tensor, number))


def _exact(number: Any) -> torch.Tensor:
    dtype = {float: torch.float64, complex: torch.complex128}.get(type(number))
    return torch.tensor(number, dtype=dtype)
