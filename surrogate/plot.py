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
from surrogate._examples import examples
from surrogate._extras import extra_module
from surrogate._gradient import Gradient
from surrogate._listing import ops
from surrogate._measure import derivative
from surrogate._op import Op
from surrogate._partial import Kind
from surrogate._registry import Spec, registry

__all__ = ["gallery", "gradient", "op"]

_FORWARD = "0.55"
_PLAIN = "black"
_COLORS = (
    "C0",
    "C1",
    "C2",
    "C3",
    "C4",
    "C5",
    "C6",
    "C8",
    "C9",
)  # without C7, which is grey as the forward is
_STYLES = ("-", "--", "-.", (0, (1, 1)))
_COLUMNS = 6


def gradient(op: str, spec: Spec, *, ax: Any = None, reach: float | None = None) -> Any:
    """Draw one gradient over its op's forward.

    Args:
        op: an op's name.
        spec: a gradient for it.
        ax: matplotlib axes to draw on; new ones if None.
        reach: draw from -reach to reach; None: as far as the op's edges ask for. The op's other inputs
            are held; the title says where.

    Returns:
        The matplotlib axes.

    Raises:
        MissingExtraError: matplotlib is not installed.
        UnknownOpError, UnknownGradientError, UnknownParameterError, ParameterError, SpecError:
            as :func:`surrogate.gradient`.
    """
    found = registry.gradient(op, spec)
    ax, reach = _axes(ax, (6.4, 4.0)), _reach(found.op, reach)
    _draw_forward(ax, found.op, reach)
    _draw(ax, branches(derivative(found), reach), color="C0", label=found.spec, linewidth=2)
    _dress(ax, found.op, reach, title=f"{found.op.name}:{found.spec}")
    ax.legend(handles=_legend(ax), loc="best", fontsize="small")
    return ax


def op(op: str, specs: Sequence[Spec] | None = None, *, ax: Any = None, reach: float | None = None) -> Any:
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
    found = [registry.gradient(op, spec) for spec in (examples(op) if specs is None else specs)]
    ax, reach = _axes(ax, (9.0, 5.2)), _reach(known, reach)
    _draw_forward(ax, known, reach)
    for i, one in enumerate(found):
        _draw(ax, branches(derivative(one), reach), label=one.spec, **_style(one, i, len(found)))
    _dress(ax, known, reach, title=f"{known.name}: its value and {len(found)} surrogate gradients")
    ax.legend(
        handles=_legend(ax), loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize="small", frameon=False
    )
    return ax


def _style(one: Gradient, i: int, count: int) -> dict[str, Any]:
    """Lines and markers get thinner one by one, so that those that coincide are all seen."""
    early = 1 - i / max(count - 1, 1)
    style = {"linewidth": 1.2 + 1.8 * early, "markersize": 4 + 6 * early}
    if one.rule.kept((True, *(False,) * (one.op.arity - 1))) is Kind.CONSTANT:
        return style | {"color": _PLAIN, "linestyle": ":", "linewidth": 1.2}
    if one.name == one.op.default:
        return style | {"color": _COLORS[0], "linestyle": "-"}
    return style | {"color": _COLORS[i % len(_COLORS)], "linestyle": _STYLES[i % len(_STYLES)]}


def gallery(path: str | Path | None = None) -> Any:
    """Draw every gradient of every op on one page, each on axes of its own.

    Args:
        path: the file to write, its suffix decides the format; None writes nothing.

    Returns:
        The matplotlib figure.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    figure_module = extra_module("matplotlib.figure", extra="plot", purpose="surrogate.plot")
    found = [(registry.op(name), examples(name)) for name in ops()]
    rows = sum(-(-len(specs) // _COLUMNS) for _, specs in found)
    figure = figure_module.Figure(figsize=(2.6 * _COLUMNS, 2.1 * rows))
    grid = figure.add_gridspec(rows, _COLUMNS, hspace=0.75, wspace=0.3, left=0.05, right=0.99, top=0.965)
    row = 0
    for known, specs in found:
        for i, spec in enumerate(specs):
            ax = figure.add_subplot(grid[row + i // _COLUMNS, i % _COLUMNS])
            _thumbnail(ax, registry.gradient(known.name, spec))
        row += -(-len(specs) // _COLUMNS)
    figure.legend(handles=_legend(figure.axes[0], gallery=True), loc="upper center", ncols=4, frameon=False)
    figure.supxlabel("the op's first input (dimensionless)", fontsize="medium", y=0.09)
    if path is not None:
        figure.savefig(path, dpi=110, bbox_inches="tight")
    return figure


def _thumbnail(ax: Any, found: Gradient) -> None:
    reach = _reach(found.op, None)
    _draw_forward(ax, found.op, reach, markersize=2.5, linewidth=0.8)
    _draw(ax, branches(derivative(found), reach), color="C0", label=found.spec, linewidth=1.4, markersize=3)
    ax.set_title(f"{found.op.name}\n{found.spec}", fontsize=7)
    ax.tick_params(labelsize=6)
    ax.set_xlim(-reach, reach)


def _reach(known: Op, asked: float | None) -> float:
    return known.samples.reach if asked is None else asked


def _legend(ax: Any, *, gallery: bool = False) -> list[Any]:
    """Handles of the labelled lines, and of what the markers mean if there are any."""
    lines = extra_module("matplotlib.lines", extra="plot", purpose="surrogate.plot")
    handles: list[Any] = ax.get_legend_handles_labels()[0]
    if gallery:
        names = ("the op's value", "the gradient")
        handles = [
            lines.Line2D([], [], color=c, label=name) for c, name in zip((_FORWARD, "C0"), names, strict=True)
        ]
    if gallery or any(line.get_marker() == "o" for line in ax.lines):
        mark = {"marker": "o", "linestyle": "none", "color": _PLAIN, "markersize": 5}
        handles.append(lines.Line2D([], [], **mark, label="value at a jump"))
        handles.append(lines.Line2D([], [], **mark, markerfacecolor="white", label="limit from one side"))
    return handles


def _axes(ax: Any, size: tuple[float, float]) -> Any:
    if ax is not None:
        return ax
    pyplot = extra_module("matplotlib.pyplot", extra="plot", purpose="surrogate.plot")
    _, ax = pyplot.subplots(figsize=size, layout="constrained")
    return ax


def _draw_forward(ax: Any, known: Op, reach: float, **style: Any) -> None:
    others = known.held
    curve = branches(lambda x: reference.forward(known.name, x, *others), reach)
    label = f"{known.name}({', '.join(known.inputs)})"
    _draw(ax, curve, **{"color": _FORWARD, "label": label, "linewidth": 1.2, "zorder": 1.5, **style})


def _draw(ax: Any, curve: Branches, *, markersize: float = 5, **style: Any) -> None:
    ax.plot(curve.x, curve.y, **style)
    marks = {"color": style["color"], "linestyle": "none", "marker": "o", "markersize": markersize}
    marks["zorder"] = style.get("zorder", 2) + 0.1
    sides = [(jump.x, y) for jump in curve.jumps for y in (jump.left, jump.right) if y != jump.at]
    values = [(jump.x, jump.at) for jump in curve.jumps]
    for points, filling in ((sides, "white"), (values, style["color"])):
        if points:
            ax.plot(*np.transpose(points), **marks, markerfacecolor=filling, label="_")


def _dress(ax: Any, known: Op, reach: float, *, title: str) -> None:
    held = zip(known.inputs[1:], known.held, strict=True)
    at = ", ".join(f"{name} = {value:g}" for name, value in held)
    ax.set_title(title + (f"   ({at})" if at else ""), fontsize="medium")
    ax.set_xlabel(f"{known.inputs[0]} (dimensionless)")
    ax.set_ylabel(f"value, and derivative by {known.inputs[0]} (dimensionless)")
    ax.set_xlim(-reach, reach)
    ax.grid(visible=True, alpha=0.25)
