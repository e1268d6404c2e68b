"""Gradients for ``clip``, ``relu``, ``relu6`` and ``abs``: windows, ties and upstream rules."""

from __future__ import annotations

from typing import Any

from surrogate._registry import register


@register("clip", name="closed")
def clip_closed(xp: Any, x: Any, lo: Any, hi: Any) -> Any:
    """1[lo <= x <= hi] to x, 1[x < lo] to lo, 1[x > hi] to hi: ties go to x, and the three add up to g."""
    return (lo <= x) & (x <= hi), x < lo, x > hi


@register("clip", name="identity")
def clip_identity(xp: Any, x: Any) -> Any:
    """1 everywhere to x, 0 to the bounds: the straight-through estimator."""
    return 1.0
