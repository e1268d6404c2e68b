"""Values that PyTorch's own kernel computes slowly, by a way that gives the same bits.

Under a rule the forward pass is ours to run. Where PyTorch works on a CPU tensor one element at a time and
another expression has the same result to the last bit, :func:`value` takes that; for everything else, by
what it is told about the op and its inputs, it gives None, and the native kernel runs. What was found when
every op of the catalogue was timed is in ``docs/cost.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any

import torch

from surrogate_torch import _blocks
from surrogate_torch._plain import is_large, is_plain, no_modes
from surrogate_torch._together import as_bools

aten = torch.ops.aten

#: From so many elements on each way is the faster one by 1.3 at least: measured, on one thread and two.
LARGE = 1 << 14
LARGE_WITH_TIES = 1 << 16
LARGE_COMPARED = 1 << 17
#: The same of the length of an axis, for tensors that are made wider on the way.
LONG = 64

_INTEGERS = {2: torch.int16, 4: torch.int32, 8: torch.int64}
_in_transform = torch._C._are_functorch_transforms_active
_below_autograd = torch._C._AutoDispatchBelowAutograd


def value(overload: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What the overload gives for these arguments; None where its own kernel is to be run."""
    way = _WAYS.get(overload)
    if way is None or kwargs or not is_large(args[0], LARGE) or not args[0].is_floating_point():
        return None
    if _in_transform() or not no_modes() or not is_plain(args[0]):
        return None
    with torch.no_grad(), _below_autograd():
        return way(*args)


def _heaviside(x: Any, values: Any) -> Any:
    """1 above 0, ``values`` at 0, 0 below and at NaN."""
    if not isinstance(values, torch.Tensor) or values.dtype is not x.dtype or not is_plain(values):
        return None
    at_zero = _one_or_line(values, x)
    if at_zero is None or not _blocks.is_dense(x):
        return None
    number = None if at_zero.dim() else at_zero.item()
    if number == 1:
        return torch.ge(x, 0, out=torch.empty_like(x))
    if number == 0 and not torch.signbit(at_zero):
        return torch.gt(x, 0, out=torch.empty_like(x))
    return _with_ties(x, at_zero, number) if x.numel() >= LARGE_WITH_TIES else None


def _with_ties(x: Any, at_zero: Any, number: float | None) -> Any:
    """The step with any value at 0, by blocks: a number, or a tensor's elements."""
    y, integer, step = torch.empty_like(x), _INTEGERS[x.itemsize], _blocks.size()
    lines = [_blocks.line(each, each).split(step) for each in (x, y, y.view(integer))]
    if number is not None and torch.finfo(x.dtype).smallest_normal <= abs(number) < inf:
        for part, target, _ in zip(*lines, strict=True):
            ties = torch.eq(part, 0, out=torch.empty_like(part))
            torch.gt(part, 0, out=target).add_(ties, alpha=number)  # one of them is 0
        return y
    bits = at_zero.view(integer)
    given = bits.split(step) if number is None else [bits.item()] * len(lines[0])
    for part, target, as_integer, mine in zip(*lines, given, strict=True):
        ties = torch.eq(part, 0).to(integer).neg_().bitwise_and_(mine)
        torch.gt(part, 0, out=target)
        as_integer.bitwise_or_(ties)
    return y


def _comparison(compare: Callable[..., Any]) -> Callable[..., Any]:
    """With a number: into floating-point ones and zeros it goes many at a time, and so from them to bools."""

    def way(x: Any, other: Any) -> Any:
        if isinstance(other, torch.Tensor):
            if other.dtype is not x.dtype or not is_plain(other) or other.dim():
                return None
        elif isinstance(other, complex):
            return None
        if x.itemsize == 8 or x.numel() < LARGE_COMPARED or not _blocks.is_dense(x):
            return None
        y, step = torch.empty_like(x, dtype=torch.bool), _blocks.size()
        lines = [_blocks.line(each, each).split(step) for each in (x, y)]
        for part, target in zip(*lines, strict=True):
            as_bools(compare(part, other, out=torch.empty_like(part)), target)
        return y

    return way


def _one_or_line(other: Any, x: Any) -> Any:
    """A tensor without dimensions if it is one number, else as a line in the order of ``x``, or None."""
    if other.numel() == 1 and other.dim() <= x.dim():
        return other.reshape(())
    return _blocks.line(other, x)


def _argmax(x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The first place of the largest, or of a NaN, along the axis that lies side by side in memory."""
    if dim is None or not x.dim() or x.stride(dim) != 1 or x.shape[dim] < 2:
        return None
    if x.itemsize == 2 and x.shape[dim] < LONG:
        return None
    wide = x.float() if x.itemsize == 2 else x  # there one is compared at a time
    return wide.max(dim, keepdim).indices


_WAYS: dict[Any, Callable[..., Any]] = {aten.heaviside.default: _heaviside, aten.argmax.default: _argmax}
for _name in ("gt", "ge", "lt", "le", "eq", "ne"):
    for _overload in (getattr(aten, _name).Tensor, getattr(aten, _name).Scalar):
        _WAYS[_overload] = _comparison(getattr(torch, _name))
