"""A gradient in a notebook: its name, its formula's docstring, and its curve as a small drawing."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from surrogate._gradient import Gradient

Floats = npt.NDArray[np.float64]

_WIDTH, _HEIGHT, _MARGIN = 240, 110, 8


def as_html(gradient: Gradient) -> str:
    """The page's piece for one gradient, without styles or scripts from elsewhere."""
    first, _, rest = gradient.doc.partition("\n\n")
    drawing = _drawing(gradient) if gradient.op.elementwise else ""
    return (
        f'<div><code><b>{escape(gradient.id)}</b></code><div style="max-width: 40em">{escape(first)}</div>'
        f"{drawing}<details><summary>source and notes</summary>{escape(rest) or 'none'}</details></div>"
    )


def _drawing(gradient: Gradient) -> str:
    from surrogate._curve import curve  # which imports this package's other half

    points = curve(gradient, count=480)
    values = [y[np.isfinite(y)] for y in (points.forward, points.slope)]
    low, high = min(0.0, *(v.min() for v in values)), max(0.0, *(v.max() for v in values))
    across = (_WIDTH - 2 * _MARGIN) / np.ptp(points.x)
    down = (_HEIGHT - 2 * _MARGIN) / max(high - low, 1e-300)
    x = _MARGIN + (points.x - points.x[0]) * across
    lines = [
        _line(x, _HEIGHT - _MARGIN - (y - low) * down, color, width)
        for y, color, width in ((points.forward, "#999", 1), (points.slope, "#1f77b4", 2))
    ]
    name = gradient.op.inputs[0]
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" style="display: block">'
        f"<title>{escape(gradient.op.name)} in grey and its derivative by {escape(name)}, "
        f"{points.x[0]:g} to {points.x[-1]:g}</title>{''.join(lines)}</svg>"
    )


def _line(x: Floats, y: Floats, color: str, width: int) -> str:
    """A line that is lifted at jumps and at what is not finite."""
    return "".join(
        f'<polyline fill="none" stroke="{color}" stroke-width="{width}" points="{piece}"/>'
        for piece in _pieces(x, y)
    )


def _pieces(x: Floats, y: Floats) -> Iterator[str]:
    jumps = np.flatnonzero(~(np.abs(np.diff(y)) < _HEIGHT / 8)) + 1
    for part in np.split(np.arange(x.size), jumps):
        kept = part[np.isfinite(y[part])]
        if kept.size > 1:
            yield " ".join(f"{x[i]:.1f},{y[i]:.1f}" for i in kept)
