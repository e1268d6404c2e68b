"""Large CPU tensors by blocks: a formula is several passes over memory; a block stays in the cache.

A derivative is elementwise (the core has checked it), so that only the time changes, to a third or less, and
the memory that intermediate results take.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from surrogate_torch._plain import is_large, is_plain, is_watched

Elementwise = Callable[[Sequence[Any]], Sequence[Any]]

#: Below this all of it stays in the cache anyway, and many short calls cost more than a few long ones.
LARGE = 1 << 20
#: Elements of a block for each thread: 256 kB of float32, so that a block, its result and what lies between
#: fit into a core's second cache. Measured; half or twice as many do nearly as well.
SHARE = 1 << 16

_below_autograd = torch._C._AutoDispatchBelowAutograd
_is_dense = torch.ops.aten.is_non_overlapping_and_dense


def by_blocks(evaluate: Elementwise, arrays: Sequence[Any]) -> Sequence[Any]:
    """``evaluate(arrays)``, block after block where that is faster.

    Args:
        evaluate: elementwise; gives tensors of the shape of the inputs, or None.
        arrays: tensors and Python numbers.
    """
    block = size()
    lead = next((x for x in arrays if is_large(x, LARGE)), None)
    if lead is None or lead.numel() < 2 * block or is_watched() or not is_dense(lead):
        return evaluate(arrays)
    lines = [line(x, lead) for x in arrays]
    if not all(map(_is_side_by_side, lines, arrays)):
        return evaluate(arrays)
    results: list[Any] = []
    with _below_autograd():
        for start in range(0, lead.numel(), block):
            part = slice(start, start + block)
            found = evaluate(
                [x if flat is None else flat[part] for flat, x in zip(lines, arrays, strict=True)]
            )
            if not start:
                results = [None if y is None else torch.empty_like(lead, dtype=y.dtype) for y in found]
                targets = [None if y is None else line(y, y) for y in results]
            for target, y in zip(targets, found, strict=True):
                if target is not None:
                    target[part] = y
    return results


def size() -> int:
    """Elements of a block."""
    return SHARE * torch.get_num_threads()


def is_dense(x: Any) -> bool:
    """Whether a tensor's elements lie side by side in memory, in any order."""
    return bool(_is_dense(x))


def line(x: Any, lead: Any) -> Any:
    """A large array as one line of elements in the order of ``lead``'s; None for what is none."""
    if not isinstance(x, torch.Tensor) or x.shape != lead.shape or not is_plain(x):
        return None
    if x.stride() == lead.stride():
        return x.as_strided((x.numel(),), (1,))
    if not any(x.stride()):  # one number, seen many times: the gradient of a sum
        return x.as_strided((x.numel(),), (0,))
    return None


def _is_side_by_side(flat: Any, x: Any) -> bool:
    """Whether ``x`` can go with a block of the others: as a line, or because it is a single number."""
    return flat is not None or not isinstance(x, torch.Tensor) or (not x.dim() and is_plain(x))
