"""A curve in the terminal, drawn with braille dots: two by four in every character."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_BLANK = 0x2800
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))


def chart(x: Floats, y: Floats, *, width: int = 60, height: int = 10) -> list[str]:
    """Lines of text that show ``y`` over ``x``, with labels at both axes.

    Args:
        x: ascending.
        y: as many values, all finite.
        width, height: of the drawing in characters, labels not counted.
    """
    low, high = min(0.0, float(np.min(y))), max(0.0, float(np.max(y)))
    if low == high:
        high = 1.0
    columns, rows = 2 * width, 4 * height
    values = np.interp(np.linspace(x[0], x[-1], columns), x, y)
    levels = np.rint((values - low) / (high - low) * (rows - 1)).astype(int)
    cells = np.full((height, width), _BLANK)
    before = levels[0]
    for column, level in enumerate(levels):
        for dot in range(min(before, level) + (before < level), max(before, level) + (before <= level)):
            _set(cells, column, rows - 1 - dot)
        before = level
    return _label(["".join(map(chr, row)) for row in cells], x, low, high)


def _set(cells: npt.NDArray[np.int_], column: int, row: int) -> None:
    cells[row // 4, column // 2] |= _DOTS[row % 4][column % 2]


def _label(lines: list[str], x: Floats, low: float, high: float) -> list[str]:
    names = {0: f"{high:.3g}", len(lines) - 1: f"{low:.3g}"}
    margin = max(map(len, names.values()))
    width = len(lines[0])
    middle = f"{(x[0] + x[-1]) / 2:.3g}"
    left, right = f"{x[0]:.3g}", f"{x[-1]:.3g}"
    axis = left.ljust(width // 2 - len(middle) // 2) + middle
    axis = axis.ljust(width - len(right)) + right
    drawn = [f"{names.get(i, ''):>{margin}} ┤{line}" for i, line in enumerate(lines)]
    return [*drawn, f"{'':>{margin}}  {axis}"]
