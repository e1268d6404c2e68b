"""Large CPU tensors by blocks: a formula is several passes over memory; a block stays in the cache.

A derivative is elementwise (the core has checked it), so that only the time changes, to a third or less, and
the memory that intermediate results take.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn import Parameter

Elementwise = Callable[[Sequence[Any]], Sequence[Any]]

#: Below this all of it stays in the cache anyway, and many short calls cost more than a few long ones.
LARGE = 1 << 20
#: Elements of a block for each thread: half a megabyte of float32.
SHARE = 1 << 17

_below_autograd = torch._C._AutoDispatchBelowAutograd
_in_transform = torch._C._are_functorch_transforms_active
_modes = torch._C._len_torch_dispatch_stack
_is_dense = torch.ops.aten.is_non_overlapping_and_dense


def is_large(x: Any, least: int = LARGE) -> bool:
    """Whether it is a tensor of PyTorch's own class, not a compiler's stand-in, of so many elements."""
    return (type(x) is torch.Tensor or type(x) is Parameter) and x.numel() >= least


def by_blocks(evaluate: Elementwise, arrays: Sequence[Any]) -> Sequence[Any]:
    """``evaluate(arrays)``, block after block where that is faster.

    Args:
        evaluate: elementwise; gives tensors of the shape of the inputs, or None.
        arrays: tensors and Python numbers.
    """
    block = SHARE * torch.get_num_threads()
    lead = next((x for x in arrays if is_large(x)), None)
    if lead is None or torch.is_grad_enabled() or _in_transform() or _modes() or not _is_walkable(lead):
        return evaluate(arrays)
    lines = [_line(x, lead) for x in arrays]
    if not all(map(_is_side_by_side, lines, arrays)):
        return evaluate(arrays)
    results: list[Any] = []
    with _below_autograd():
        for start in range(0, lead.numel(), block):
            part = slice(start, start + block)
            found = evaluate(
                [x if line is None else line[part] for line, x in zip(lines, arrays, strict=True)]
            )
            if not start:
                results = [None if y is None else torch.empty_like(lead, dtype=y.dtype) for y in found]
                targets = [None if y is None else _line(y, y) for y in results]
            for target, y in zip(targets, found, strict=True):
                if target is not None:
                    target[part] = y
    return results


def _is_walkable(x: Any) -> bool:
    """Whether its elements lie one after the other in this machine's memory."""
    return x.device.type == "cpu" and x.layout is torch.strided and not x.is_neg() and _is_dense(x)


def _line(x: Any, lead: Any) -> Any:
    """A large array as one line of elements in the order of ``lead``'s; None for one that is not large."""
    if not is_large(x, lead.numel()) or x.shape != lead.shape or x.is_neg():
        return None
    if x.stride() == lead.stride():
        return x.as_strided((x.numel(),), (1,))
    if not any(x.stride()):  # one number, seen many times: the gradient of a sum
        return x.as_strided((x.numel(),), (0,))
    return None


def _is_side_by_side(line: Any, x: Any) -> bool:
    """Whether ``x`` can go with a block of the others: as a line, or because it is a single number."""
    return line is not None or not isinstance(x, torch.Tensor) or (not x.dim() and x.device.type == "cpu")
