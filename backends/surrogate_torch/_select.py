"""A window's backward on a CPU: the upstream gradient where the window is open, by bit operations.

``torch.where`` with a mask that follows the data costs 13 copies of the tensor: its loop branches on every
element. Code that torch.compile makes for a CPU reads and writes a bool one by one. As integers both go at
memory speed, and the numbers are the same: it is a selection, so an infinite or NaN upstream gradient is 0
at a closed place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._guards import TracingContext

from surrogate_torch import _blocks
from surrogate_torch._plain import has_tangent, is_large, is_plain, is_stand_in, is_watched

#: Below this the test costs more than it saves.
LARGE = 1 << 14

_INTEGERS = {2: torch.int16, 4: torch.int32, 8: torch.int64}
_in_transform = torch._C._are_functorch_transforms_active
_below_autograd = torch._C._AutoDispatchBelowAutograd


def zeros_like(x: Any) -> Any:
    """0 in the shape and dtype of a tensor; for a large one a single number in memory, seen many times."""
    return x.new_zeros(()).expand_as(x) if is_large(x, LARGE) else torch.zeros_like(x)


def owned(c: Any, g: Any) -> Any:
    """A cotangent to be given away, its zeros in memory like ``g``: it may be changed in place."""
    return torch.empty_like(g).copy_(c) if c is not g and is_large(c, LARGE) and not any(c.stride()) else c


def where(mask: Any, x: Any, y: Any) -> Any:
    """``x`` where ``mask`` holds, ``y`` elsewhere; a mask may be :func:`packed`."""
    if mask.dtype is torch.uint8:
        return torch.where(mask != 0, x, y) if _is_recorded(x, y) else _select(mask, x, y, x.dtype)
    if is_large(mask, LARGE) and not is_watched() and _can_select(mask, x, y):
        dtype = x.dtype if isinstance(x, torch.Tensor) else y.dtype
        return _select(mask, _as_number(x), _as_number(y), dtype)
    return torch.where(mask, x, y)


def packed(masks: Sequence[Any]) -> Sequence[Any]:
    """Masks as torch.compile keeps them best: as small integers where it makes code for a CPU."""
    if TracingContext.try_get() is None or _in_transform():
        return masks
    # not at once: from bool to an integer it would go one by one
    return tuple(
        [m.float().to(torch.uint8) if is_stand_in(m) and m.device.type == "cpu" else m for m in masks]
    )


def _is_recorded(x: Any, y: Any) -> bool:
    """Whether the selection is to be differentiated: bits cannot be."""
    return torch.is_grad_enabled() or _in_transform() or has_tangent(x) or has_tangent(y)


def _can_select(mask: Any, x: Any, y: Any) -> bool:
    """Whether they are tensors of the mask's shape and of one floating dtype, or one of them is a number."""
    tensors = [value for value in (x, y) if isinstance(value, torch.Tensor)]
    return len({value.dtype for value in tensors}) == 1 and all(
        value.shape == mask.shape and value.is_floating_point() and is_plain(value) for value in tensors
    )


def _as_number(value: Any) -> Any:
    """The number of a tensor that is one number, seen many times, as :func:`zeros_like` makes it."""
    repeated = isinstance(value, torch.Tensor) and not any(value.stride())
    return value[(0,) * value.dim()].item() if repeated else value


def _select(mask: Any, x: Any, y: Any, dtype: Any) -> Any:
    """The bits of ``x`` or of ``y``, tensors of a dtype or numbers."""
    integer = _INTEGERS[dtype.itemsize]
    chosen, other = _bits(x, dtype), _bits(y, dtype)
    if isinstance(other, int) and other == 0:
        return _gated(mask, chosen, integer).view(dtype)
    keep = mask.to(integer).neg_()  # all ones, or all zeros
    change = chosen ^ other
    changed = keep.bitwise_and_(change) if isinstance(change, int) else change.bitwise_and_(keep)
    return changed.bitwise_xor_(other).view(dtype)


def _gated(mask: Any, bits: Any, integer: Any) -> Any:
    """``bits``, a tensor or a number, where a mask holds, and 0 elsewhere; by blocks where it is large."""
    step = _blocks.size()
    if is_large(mask, step) and not is_watched() and _blocks.is_dense(mask):
        gates = _blocks.line(mask.view(torch.uint8), mask)
        flat = _blocks.line(bits, mask) if isinstance(bits, torch.Tensor) else None
        if flat is not None or not isinstance(bits, torch.Tensor):
            found = torch.empty_like(mask, dtype=integer)
            given = [bits] * -(-mask.numel() // step) if flat is None else flat.split(step)
            with _below_autograd():
                targets = _blocks.line(found, found).split(step)
                for gate, part, target in zip(gates.split(step), given, targets, strict=True):
                    _gate(target.copy_(gate), part)
            return found
    return mask.to(integer).neg_().bitwise_and_(bits)


def _gate(ones: Any, bits: Any) -> None:
    """Make it ``bits`` where it is 1, and leave 0; integers of 8 bytes have no fast product."""
    if ones.itemsize == 8:
        ones.neg_().bitwise_and_(bits)  # all ones, or all zeros
    else:
        ones.mul_(bits)


def _bits(value: Any, dtype: Any) -> Any:
    integer = _INTEGERS[dtype.itemsize]
    if isinstance(value, torch.Tensor):
        return value.view(integer)
    return int(torch.full((), value, dtype=dtype, device="cpu").view(integer))
