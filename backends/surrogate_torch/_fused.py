"""A choice: windows by the one kernel that PyTorch has for them, which reads the input and not a mask.

No mask is made in the forward pass, and the backward goes through memory once: half the time. It keeps the
input, four bytes for one, unless another op keeps the same tensor anyway; and at NaN it lets the upstream
gradient pass, where the catalogue's windows give 0. So it is offered, and never taken unasked. In compiled
code there is nothing to choose: the compiler fuses either form.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from typing import Any

import torch

from surrogate import Rule
from surrogate_torch._node import Node
from surrogate_torch._plain import is_plain

#: Whether the block is one of :func:`fused_windows`.
chosen: ContextVar[bool] = ContextVar("surrogate_torch.fused_windows", default=False)
_below_autograd = torch._C._AutoDispatchBelowAutograd
_after_autograd = torch._C._after_autograd_keyset

Bounds = tuple[float, float]


@contextmanager
def fused_windows() -> Iterator[None]:
    """Windows of ops that run in this block keep their input and use PyTorch's fused kernel.

    For every gradient that says that it is an interval: ``hardtanh`` of ``sign``, ``clipped`` of the
    roundings, a function registered with ``interval=``; for floating tensors of any shape and dtype, in eager
    mode. The gradients are the same numbers, but for the upstream gradient where the input is NaN. It takes
    half the time on a large CPU tensor, and 4 bytes of memory for each element of float32 in place of 1, or
    none where another op keeps the input too. Every other gradient
    is as without. Holds in this thread or async task, as an override does.
    """
    with choice(True):
        yield


@contextmanager
def choice(fused: bool) -> Iterator[None]:
    """Make it, or take it back, in a block."""
    token = chosen.set(fused)
    try:
        yield
    finally:
        chosen.reset(token)


def bounds(rule: Rule, x: Any) -> Bounds | None:
    """What the kernel takes for this window; None where it is not for it."""
    interval = rule.interval
    return _around(*interval, x.dtype) if interval is not None and is_plain(x) else None


@functools.lru_cache(maxsize=256)
def _around(lo: float, hi: float, dtype: torch.dtype) -> Bounds:
    """The neighbours of the interval: the kernel gives 0 at its bounds; the edges belong to the window."""
    below, above = torch.tensor(lo, dtype=dtype), torch.tensor(hi, dtype=dtype)
    return float(torch.nextafter(below, below - inf)), float(torch.nextafter(above, above + inf))


class FusedWindow(Node):
    """A node for a window of an op of one tensor."""

    @staticmethod
    def forward(ctx: Any, redispatch: Any, keys: Any, rule: Rule, within: Bounds, x: Any) -> Any:
        ctx.rule, ctx.within = rule, within
        ctx.save_for_backward(x)
        with _below_autograd():
            return redispatch(keys & _after_autograd, x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return None, None, None, None, torch.ops.aten.hardtanh_backward(g, x, *ctx.within)
