"""Numbers of tensors for the audit: ranges, and how much of an activation passes a gradient."""

from __future__ import annotations

import math
from typing import Any

import torch

from surrogate.auditing import BATCH, SATURATING, STRICT, Call, Size, Span, bounds_of

Tensor = Any


def span_of(x: Tensor | None) -> Span | None:
    """The span of a float tensor; None for one that is empty, sparse, or has no numbers yet."""
    if x is None or x.numel() == 0 or x.layout != torch.strided or x.is_meta:
        return None
    x = torch.view_as_real(x.detach().resolve_conj()) if x.is_complex() else x.detach()
    if not x.is_floating_point():
        return None
    lo, hi = (float(bound) for bound in torch.aminmax(x))
    found = Span(lo, hi, size=x.numel())
    if not (math.isfinite(lo) and math.isfinite(hi)):
        finite = torch.isfinite(x)
        found.nan = int(torch.isnan(x).sum())
        found.inf = x.numel() - int(finite.sum()) - found.nan
        rest = x[finite]
        found.lo, found.hi = (float(rest.min()), float(rest.max())) if rest.numel() else (math.inf, -math.inf)
    if found.lo <= 0 <= found.hi:
        found.zero = x.numel() - int(torch.count_nonzero(x))
    return found


def size_of(gradient: Tensor | None, x: Tensor) -> Size | None:
    """Norms of a source and of its gradient."""
    if gradient is None:
        return None
    dense = gradient.to_dense() if gradient.layout != torch.strided else gradient
    zero, finite = not bool(torch.count_nonzero(dense)), bool(torch.isfinite(dense).all())
    return Size(_norm(dense), _norm(x.detach()), zero, finite)


def _norm(x: Tensor) -> float:
    return float(torch.linalg.vector_norm(x.to(torch.float64) if x.is_floating_point() else x))


def note_activation(call: Call, y: Tensor) -> None:
    """Set ``passed``, ``unit_dead`` and ``steep`` of the call of an activation from its output."""
    if not y.numel() or y.is_meta:
        return
    if call.name in SATURATING:
        slope = 1 - y * y if call.name == "tanh" else y * (1 - y)
        call.steep = float((slope < 0.01 * SATURATING[call.name]).float().mean())
    elif call.name in STRICT:
        low, high = bounds_of(call)
        if low is None and high is None:
            return
        on = torch.ones_like(y, dtype=torch.bool)
        if low is not None:
            on &= y > low
        if high is not None:
            on &= y < high
        call.passed = float(on.float().mean())
        if on.dim() >= 2 and on.shape[0] >= BATCH:  # units are channels: axis 1
            by_unit = on.movedim(1, 0).reshape(on.shape[1], -1).any(1)
            call.unit_dead = float((~by_unit).float().mean())


def note_passing(call: Call, arrived: Tensor, passed: Tensor | None) -> None:
    """The share of elements that pass a gradient, for an activation whose flat side has no bounds."""
    if call.name in STRICT and call.passed is None and passed is not None and passed.shape == arrived.shape:
        asked = int(torch.count_nonzero(arrived))
        if asked:
            call.passed = int(torch.count_nonzero(passed)) / asked
