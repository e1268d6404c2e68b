"""Pictures of gradients over their op's forward. Needs the extra ``plot`` (matplotlib).

>>> import surrogate
>>> axes = surrogate.plot.gradient("sign", "hardtanh")
>>> axes.figure.savefig("hardtanh.png")  # doctest: +SKIP

At a jump the value is a filled marker, a limit that is not the value a hollow one. matplotlib's settings
apply: inside ``matplotlib.style.context("dark_background")`` the pictures are dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from surrogate._drawing import HANDLE, draw_forward, draw_gradient, dress, legend, lines, new_axes
from surrogate._errors import UnknownNameError
from surrogate._examples import examples
from surrogate._extras import extra_module
from surrogate._gradient import Gradient
from surrogate._listing import ops
from surrogate._op import Op
from surrogate._registry import Spec, registry
from surrogate._suggest import unknown

__all__ = ["gallery", "gradient", "op"]

_COLUMNS = 6


def gradient(
    op: str, spec: Spec, *, ax: Any = None, reach: float | None = None, by: str | None = None
) -> Any:
    """Draw one gradient over its op's forward.

    A gradient that depends on the upstream gradient is drawn for g = 1 and for g = -1, divided by g.

    Args:
        op: an op's name.
        spec: a gradient for it.
        ax: matplotlib axes to draw on; new ones if None.
        reach: draw from -reach to reach; None: as far as the op's edges ask for. The op's other inputs
            are held; the title says where.
        by: the input whose derivative is drawn, by name; the first if None. The axis is the first input.

    Returns:
        The matplotlib axes.

    Raises:
        MissingExtraError: matplotlib is not installed.
        UnknownOpError, UnknownGradientError, UnknownParameterError, ParameterError, SpecError:
            as :func:`surrogate.gradient`.
        UnknownNameError: the op has no input ``by``.
    """
    found = registry.gradient(op, spec)
    position = _position(found.op, by)
    ax, reach = _axes(ax, (6.4, 4.0)), _reach(found.op, reach)
    draw_forward(ax, found.op, reach)
    draw_gradient(ax, found, position, reach, color="C0", linewidth=2)
    dress(ax, found.op, position, reach, title=f"{found.op.name}:{found.spec}")
    ax.legend(handles=legend(ax), loc="best", fontsize="small", handlelength=HANDLE)
    return ax


def op(
    op: str,
    specs: Sequence[Spec] | None = None,
    *,
    ax: Any = None,
    reach: float | None = None,
    by: str | None = None,
) -> Any:
    """Draw several gradients of an op over its forward; those that are the same constant as one line.

    Args:
        op: an op's name.
        specs: the gradients; all that are registered if None.
        ax, reach, by: as for :func:`gradient`.

    Returns:
        The matplotlib axes.

    Raises:
        As :func:`gradient`.
    """
    known = registry.op(op)
    found = [registry.gradient(op, spec) for spec in (examples(op) if specs is None else specs)]
    position = _position(known, by)
    ax, reach = _axes(ax, (9.0, 5.2)), _reach(known, reach)
    draw_forward(ax, known, reach)
    for one, label, style in lines(found, position):
        draw_gradient(ax, one, position, reach, label, **style)
    dress(ax, known, position, reach, title=f"{known.name}: its value and {len(found)} surrogate gradients")
    place = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)}
    ax.legend(handles=legend(ax), **place, fontsize="small", frameon=False, handlelength=HANDLE)
    return ax


def gallery(path: str | Path | None = None) -> Any:
    """Draw every gradient of every op on one page, each on axes of its own, by the op's first input.

    Those that an op has from another op (``greater`` from ``heaviside``) are drawn there.

    Args:
        path: the file to write, its suffix decides the format; None writes nothing.

    Returns:
        The matplotlib figure.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    figure_module = extra_module("matplotlib.figure", extra="plot", purpose="surrogate.plot")
    found = [(registry.op(name), examples(name, inherited=False)) for name in ops()]
    rows = sum(-(-len(specs) // _COLUMNS) for _, specs in found)
    figure = figure_module.Figure(figsize=(2.6 * _COLUMNS, 2.1 * rows))
    grid = figure.add_gridspec(rows, _COLUMNS, hspace=0.75, wspace=0.3, left=0.05, right=0.99, top=0.965)
    row = 0
    for known, specs in found:
        for i, spec in enumerate(specs):
            ax = figure.add_subplot(grid[row + i // _COLUMNS, i % _COLUMNS])
            _thumbnail(ax, registry.gradient(known.name, spec))
        row += -(-len(specs) // _COLUMNS)
    figure.legend(handles=legend(figure.axes[0], gallery=True), loc="upper center", ncols=4, frameon=False)
    figure.supxlabel("the op's first input (dimensionless)", fontsize="medium", y=0.09)
    if path is not None:
        figure.savefig(path, dpi=110, bbox_inches="tight")
    return figure


def _thumbnail(ax: Any, found: Gradient) -> None:
    reach = _reach(found.op, None)
    draw_forward(ax, found.op, reach, markersize=2.5, linewidth=0.8)
    draw_gradient(ax, found, 0, reach, color="C0", linewidth=1.4, markersize=3)
    ax.set_title(f"{found.op.name}\n{found.spec}", fontsize=7)
    ax.tick_params(labelsize=6)
    ax.set_xlim(-reach, reach)


def _position(known: Op, by: str | None) -> int:
    if by is None:
        return 0
    if by not in known.inputs:
        raise UnknownNameError(unknown("input", by, known.inputs, where=f" of {known.name}"))
    return known.inputs.index(by)


def _reach(known: Op, asked: float | None) -> float:
    return known.samples.reach if asked is None else asked


def _axes(ax: Any, size: tuple[float, float]) -> Any:
    return new_axes(size) if ax is None else ax
