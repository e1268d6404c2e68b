"""Pictures of gradients over their op's forward. Needs the extra ``plot`` (matplotlib).

>>> import surrogate
>>> axes = surrogate.plot.gradient("sign", "hardtanh")
>>> axes.figure.savefig("hardtanh.png")  # doctest: +SKIP

At a jump the value is a filled marker, a limit that is not the value a hollow one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from surrogate import reference
from surrogate._branches import Branches, branches
from surrogate._curve import OTHERS
from surrogate._extras import extra_module
from surrogate._gradient import Gradient
from surrogate._listing import gradients, ops
from surrogate._measure import derivative
from surrogate._op import Op
from surrogate._registry import Spec, registry

__all__ = ["gallery", "gradient", "op"]

_REACH = 3.0
_FORWARD = "0.55"
_STYLES = ("-", "--", "-.", ":")
#: Values for the parameters that have no default.
_REQUIRED = {"clipped": "clipped(lo=-1.5, hi=1.5)"}
_COLUMNS = 6


def gradient(op: str, spec: Spec, *, ax: Any = None, reach: float = _REACH) -> Any:
    """Draw one gradient over its op's forward.

    Args:
        op: an op's name.
        spec: a gradient for it.
        ax: matplotlib axes to draw on; new ones if None.
        reach: draw from -reach to reach. An op's other inputs are held; the title says where.

    Returns:
        The matplotlib axes.

    Raises:
        MissingExtraError: matplotlib is not installed.
        UnknownOpError, UnknownGradientError, UnknownParameterError, ParameterError, SpecError:
            as :func:`surrogate.gradient`.
    """
    found = registry.gradient(op, spec)
    ax = _axes(ax, (6.4, 4.0))
    _draw_forward(ax, found.op, reach)
    _draw(ax, branches(derivative(found), reach), color="C0", label=found.spec, linewidth=2)
    _dress(ax, found.op, reach, title=f"{found.op.name}:{found.spec}")
    ax.legend(loc="best", fontsize="small")
    return ax


def op(op: str, specs: Sequence[Spec] | None = None, *, ax: Any = None, reach: float = _REACH) -> Any:
    """Draw several gradients of an op over its forward.

    Args:
        op: an op's name.
        specs: the gradients; all that are registered if None.
        ax, reach: as for :func:`gradient`.

    Returns:
        The matplotlib axes.

    Raises:
        As :func:`gradient`.
    """
    known = registry.op(op)
    found = [registry.gradient(op, spec) for spec in (_all(known) if specs is None else specs)]
    ax = _axes(ax, (9.0, 5.2))
    _draw_forward(ax, known, reach)
    colors = extra_module("matplotlib", extra="plot", purpose="surrogate.plot").colormaps["tab10"]
    for i, one in enumerate(found):
        style = _STYLES[i // 10 % len(_STYLES)]
        curve = branches(derivative(one), reach)
        _draw(ax, curve, color=colors(i % 10), label=one.spec, linewidth=1.5, linestyle=style)
    _dress(ax, known, reach, title=f"{known.name}: its value and {len(found)} surrogate gradients")
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize="small", frameon=False)
    return ax


def gallery(path: str | Path | None = None, *, reach: float = _REACH) -> Any:
    """Draw every gradient of every op on one page, each on axes of its own.

    Args:
        path: the file to write, its suffix decides the format; None writes nothing.
        reach: as for :func:`gradient`.

    Returns:
        The matplotlib figure.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    figure_module = extra_module("matplotlib.figure", extra="plot", purpose="surrogate.plot")
    found = [(registry.op(name), _all(registry.op(name))) for name in ops()]
    rows = sum(-(-len(specs) // _COLUMNS) for _, specs in found)
    figure = figure_module.Figure(figsize=(2.5 * _COLUMNS, 2.1 * rows))
    grid = figure.add_gridspec(rows, _COLUMNS, hspace=0.75, wspace=0.3, left=0.04, right=0.99)
    row = 0
    for known, specs in found:
        for i, spec in enumerate(specs):
            ax = figure.add_subplot(grid[row + i // _COLUMNS, i % _COLUMNS])
            _thumbnail(ax, registry.gradient(known.name, spec), reach)
        row += -(-len(specs) // _COLUMNS)
    if path is not None:
        figure.savefig(path, dpi=110, bbox_inches="tight")
    return figure


def _thumbnail(ax: Any, found: Gradient, reach: float) -> None:
    _draw_forward(ax, found.op, reach, markersize=2.5, linewidth=0.8)
    _draw(ax, branches(derivative(found), reach), color="C0", label=found.spec, linewidth=1.4, markersize=3)
    ax.set_title(f"{found.op.name}\n{found.spec}", fontsize=7)
    ax.tick_params(labelsize=6)
    ax.set_xlim(-reach, reach)


def _axes(ax: Any, size: tuple[float, float]) -> Any:
    if ax is not None:
        return ax
    pyplot = extra_module("matplotlib.pyplot", extra="plot", purpose="surrogate.plot")
    _, ax = pyplot.subplots(figsize=size, layout="constrained")
    return ax


def _all(known: Op) -> list[str]:
    return [_REQUIRED.get(name, name) for name in gradients(known.name)]


def _draw_forward(ax: Any, known: Op, reach: float, **style: Any) -> None:
    others = OTHERS.get(known.name, ())
    curve = branches(lambda x: reference.forward(known.name, x, *others), reach)
    label = f"{known.name}({', '.join(known.inputs)})"
    _draw(ax, curve, **{"color": _FORWARD, "label": label, "linewidth": 1.2, "zorder": 1.5, **style})


def _draw(ax: Any, curve: Branches, *, markersize: float = 5, **style: Any) -> None:
    ax.plot(curve.x, curve.y, **style)
    marks = {"color": style["color"], "linestyle": "none", "marker": "o", "markersize": markersize}
    sides = [(jump.x, y) for jump in curve.jumps for y in (jump.left, jump.right) if y != jump.at]
    values = [(jump.x, jump.at) for jump in curve.jumps]
    for points, filling in ((sides, "white"), (values, style["color"])):
        if points:
            ax.plot(*np.transpose(points), **marks, markerfacecolor=filling, label="_")


def _dress(ax: Any, known: Op, reach: float, *, title: str) -> None:
    held = zip(known.inputs[1:], OTHERS.get(known.name, ()), strict=True)
    at = ", ".join(f"{name} = {value:g}" for name, value in held)
    ax.set_title(title + (f"   ({at})" if at else ""), fontsize="medium")
    ax.set_xlabel(f"{known.inputs[0]} (in the op's own units)")
    ax.set_ylabel(f"value, and derivative by {known.inputs[0]}")
    ax.set_xlim(-reach, reach)
    ax.grid(visible=True, alpha=0.25)
