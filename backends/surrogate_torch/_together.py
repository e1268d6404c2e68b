"""The value and the mask of a large window made together, block by block: its input goes through memory once.

PyTorch compares into a bool one element at a time, and into a floating-point tensor, 1 or 0, many at a time;
from that to a bool is fast again. So a mask is made by way of the block of memory that the value is to fill.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from surrogate import Kind, Rule
from surrogate_torch import _blocks, _namespace as xp
from surrogate_torch._plain import is_large, is_watched
from surrogate_torch._spellings import UNARY

#: What writes the value where it is told: a call of the function costs half of one of the overload.
_WRITE = {
    one.overload: getattr(torch, one.overload._schema.name.partition("::")[2])
    for one in UNARY
    if one.op != "relu"
}
_WRITE[torch.ops.aten.relu.default] = torch.ops.aten.relu.out
_ONE = (True,)


def value_and_mask(overload: Any, rule: Rule, x: Any) -> tuple[Any, Any] | None:
    """Both, of an op of one tensor; None where this is no way to make them. Called below autograd."""
    if rule.kept(_ONE) is not Kind.MASK or not rule.elementwise:
        return None
    step = _blocks.size()
    if not is_large(x, max(_blocks.LARGE, 2 * step)) or is_watched() or not _blocks.is_dense(x):
        return None
    y, mask = torch.empty_like(x), torch.empty_like(x, dtype=torch.bool)
    write = _WRITE[overload]
    edges = None if rule.interval is None else edges_in(*rule.interval, x.dtype)
    lines = [_blocks.line(each, each).split(step) for each in (x, y, mask)]
    for part, value, inside in zip(*lines, strict=True):
        if edges is None:
            inside.copy_(rule.save(xp, (part,), _ONE)[0])
        else:
            torch.clamp(part, *edges, out=value)
            as_bools(torch.eq(value, part, out=value), inside)
        write(part, out=value)
    return y, mask


def as_bools(ones: Any, target: Any) -> None:
    """Write floating-point ones and zeros as bools; they may be changed on the way."""
    if ones.dtype is torch.float16:  # there is no fast way from these, but of their highest bits
        target.view(torch.int8).copy_(ones.view(torch.int16).bitwise_right_shift_(_HALF))
    else:
        target.copy_(ones)


#: The place of the bit that is 1 in float16's 1.0 and 0 in its 0.0, with none above it.
_HALF = 13


@functools.lru_cache(maxsize=256)
def edges_in(lo: float, hi: float, dtype: torch.dtype) -> tuple[float, float]:
    """The edges of an interval as numbers of this dtype: that is what a formula compares with."""
    low, high = torch.tensor([lo, hi], dtype=dtype).tolist()
    return low, high
