"""A curve in the terminal: braille dots, two by four in every character, or plain ASCII."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_BLANK = 0x2800
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))


def chart(x: Floats, y: Floats, *, width: int = 60, height: int = 10, braille: bool = True) -> list[str]:
    """Lines of text that show ``y`` over ``x``, with labels at both axes.

    Args:
        x: ascending.
        y: as many values, all finite.
        width, height: of the drawing in characters, labels not counted.
        braille: whether the terminal can show braille characters; else the curve is drawn with ``*``.
    """
    low, high = min(0.0, float(np.min(y))), max(0.0, float(np.max(y)))
    if low == high:
        high = 1.0
    across, down = (2, 4) if braille else (1, 1)
    columns, rows = across * width, down * height
    values = np.interp(np.linspace(x[0], x[-1], columns), x, y)
    levels = np.rint((values - low) / (high - low) * (rows - 1)).astype(int)
    dots = np.zeros((rows, columns), dtype=bool)
    before = levels[0]
    for column, level in enumerate(levels):
        for dot in range(min(before, level) + (before < level), max(before, level) + (before <= level)):
            dots[rows - 1 - dot, column] = True
        before = level
    return _label(
        _in_braille(dots) if braille else _in_ascii(dots), x, low, high, tick="┤" if braille else "|"
    )


def _in_braille(dots: npt.NDArray[np.bool_]) -> list[str]:
    rows, columns = dots.shape
    cells = np.full((rows // 4, columns // 2), _BLANK)
    for row, column in np.argwhere(dots):
        cells[row // 4, column // 2] |= _DOTS[row % 4][column % 2]
    return ["".join(map(chr, row)) for row in cells]


def _in_ascii(dots: npt.NDArray[np.bool_]) -> list[str]:
    return ["".join("*" if dot else " " for dot in row) for row in dots]


def _label(lines: list[str], x: Floats, low: float, high: float, *, tick: str) -> list[str]:
    names = {0: f"{high:.3g}", len(lines) - 1: f"{low:.3g}"}
    margin = max(map(len, names.values()))
    width = len(lines[0])
    middle = f"{(x[0] + x[-1]) / 2:.3g}"
    left, right = f"{x[0]:.3g}", f"{x[-1]:.3g}"
    axis = left.ljust(width // 2 - len(middle) // 2) + middle
    axis = axis.ljust(width - len(right)) + right
    drawn = [f"{names.get(i, ''):>{margin}} {tick}{line}" for i, line in enumerate(lines)]
    return [*drawn, f"{'':>{margin}}  {axis}"]
