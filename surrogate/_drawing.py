"""Lines, markers and legends of the pictures: how a curve with jumps is drawn, and how lines are told apart.

Colours of text and background are matplotlib's own settings, so that a dark style gives a dark picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from surrogate._branches import Branches, branches
from surrogate._curve import derivative, held, value
from surrogate._extras import extra_module
from surrogate._gradient import Gradient
from surrogate._op import Op
from surrogate._partial import Kind

FORWARD = "0.55"
#: matplotlib's colours without C7, which is grey as the forward is.
COLORS = ("C0", "C1", "C2", "C3", "C4", "C5", "C6", "C8", "C9")
_STYLES: tuple[Any, ...] = ("-", "--", "-.", (0, (1, 1)))
#: Of constant derivatives, each value has its own.
_DOTS: tuple[Any, ...] = ((0, (1, 1.5)), (0, (6, 2)), (0, (6, 2, 1, 2)), (0, (3, 1, 1, 1, 1, 1)))
#: Long enough for a whole period of every dash pattern.
HANDLE = 3.6


def text_color() -> Any:
    """The colour of text, and of what stands for it."""
    return extra_module("matplotlib", extra="plot", purpose="surrogate.plot").rcParams["text.color"]


def new_axes(size: tuple[float, float]) -> Any:
    """Axes on a figure of their own."""
    pyplot = extra_module("matplotlib.pyplot", extra="plot", purpose="surrogate.plot")
    return pyplot.subplots(figsize=size, layout="constrained")[1]


def draw_forward(ax: Any, known: Op, reach: float, **style: Any) -> None:
    """The op's own value along its first input."""
    curve = branches(value(known), reach)
    label = f"{known.name}({', '.join(known.inputs)})"
    draw(ax, curve, **{"color": FORWARD, "label": label, "linewidth": 1.2, "zorder": 1.5, **style})


def draw_gradient(
    ax: Any, one: Gradient, by: int, reach: float, label: str | None = None, **style: Any
) -> None:
    """One gradient by the input at position ``by``; one that depends on ``g`` for g = 1 and g = -1."""
    label = one.spec if label is None else label
    if not one.upstream:
        draw(ax, branches(derivative(one, by), reach), label=label, **style)
        return
    draw(ax, branches(derivative(one, by), reach), label=f"{label}, g = 1", **style)
    style |= {"linestyle": (0, (1, 1)), "linewidth": 0.7 * style.get("linewidth", 1.5), "alpha": 0.8}
    draw(ax, branches(derivative(one, by, g=-1.0), reach), label=f"{label}, g = −1", **style)


def draw(ax: Any, curve: Branches, *, markersize: float = 5, **style: Any) -> None:
    """A line that breaks at its jumps: there the value is a filled marker, each limit a hollow one."""
    ax.plot(curve.x, curve.y, **style)
    marks = {"color": style["color"], "linestyle": "none", "marker": "o", "markersize": markersize}
    marks["zorder"] = style.get("zorder", 2) + 0.1
    sides = [(jump.x, y) for jump in curve.jumps for y in (jump.left, jump.right) if y != jump.at]
    values = [(jump.x, jump.at) for jump in curve.jumps]
    for points, filling in ((sides, ax.get_facecolor()), (values, style["color"])):
        if points:
            ax.plot(*np.transpose(points), **marks, markerfacecolor=filling, label="_")


def lines(found: Sequence[Gradient], by: int) -> list[tuple[Gradient, str, dict[str, Any]]]:
    """What is drawn for several gradients: one of those that coincide, its label, its style.

    Constant derivatives of one value are one line, named after all of them and the value. Other lines and
    their markers get thinner one by one, so that those that lie on each other are all seen.
    """
    constants: dict[float, list[Gradient]] = {}
    for one in found:
        if (slope := _constant(one, by)) is not None:
            constants.setdefault(slope, []).append(one)
    made = []
    for i, one in enumerate(found):
        slope = _constant(one, by)
        if slope is None:
            made.append((one, one.spec, _style(one, i, len(found))))
        elif constants[slope][0] is one:
            label = f"{', '.join(each.spec for each in constants[slope])}: {slope:g}"
            dots = _DOTS[list(constants).index(slope) % len(_DOTS)]
            made.append((one, label, {"color": text_color(), "linestyle": dots, "linewidth": 1.4}))
    return made


def _constant(one: Gradient, by: int) -> float | None:
    needs = tuple(position == by for position in range(one.op.arity))
    if one.upstream or one.rule.kept(needs) is not Kind.CONSTANT:
        return None
    return float(derivative(one, by)(np.array([0.25]))[0])


def _style(one: Gradient, i: int, count: int) -> dict[str, Any]:
    early = 1 - i / max(count - 1, 1)
    style: dict[str, Any] = {"linewidth": 1.2 + 1.8 * early, "markersize": 4 + 6 * early}
    if one.name == one.op.default:
        return style | {"color": COLORS[0], "linestyle": "-"}
    return style | {"color": COLORS[i % len(COLORS)], "linestyle": _STYLES[i % len(_STYLES)]}


def legend(ax: Any, *, gallery: bool = False) -> list[Any]:
    """Handles of the labelled lines, and of what the markers mean if there are any."""
    module = extra_module("matplotlib.lines", extra="plot", purpose="surrogate.plot")
    handles: list[Any] = ax.get_legend_handles_labels()[0]
    if gallery:
        names = ((FORWARD, "the op's value"), ("C0", "the gradient"))
        handles = [module.Line2D([], [], color=color, label=name) for color, name in names]
    if gallery or any(line.get_marker() == "o" for line in ax.lines):
        mark = {"marker": "o", "linestyle": "none", "color": text_color(), "markersize": 5}
        handles.append(module.Line2D([], [], **mark, label="value at a jump"))
        hollow = {**mark, "markerfacecolor": ax.get_facecolor()}
        handles.append(module.Line2D([], [], **hollow, label="limit from one side"))
    return handles


def dress(ax: Any, known: Op, by: int, reach: float, *, title: str) -> None:
    """Title, axis labels, grid and limits."""
    at = held(known)
    ax.set_title(title + (f"   ({at})" if at else ""), fontsize="medium")
    ax.set_xlabel(f"{known.inputs[0]} (dimensionless)")
    ax.set_ylabel(f"value, and derivative by {known.inputs[by]} (dimensionless)")
    ax.set_xlim(-reach, reach)
    ax.grid(visible=True, alpha=0.25)
