"""The demo's picture: both learning curves, and each op drawn with its surrogate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from surrogate._curve import curve
from surrogate._gradient import Gradient
from surrogate.demo.runner import Report

if TYPE_CHECKING:
    import numpy.typing as npt

NATIVE, SURROGATE, FORWARD = "#6b7280", "#d1495b", "#1f2933"

_REACH = 2.75

#: Ops of the network whose native gradient is 0 everywhere.
_FLAT = ("sign", "round")


def save(report: Report, path: Path) -> None:
    """Write the picture of a report; the suffix of ``path`` decides the format."""
    draw(report).savefig(path, dpi=150)


def draw(report: Report) -> Figure:
    """The picture of a report."""
    captured = [gradient for op, gradient in report.rules.items() if report.hits.get(op)]
    figure = Figure(figsize=(10, 4.8), layout="constrained")
    grid = figure.add_gridspec(max(len(captured), 1), 2, width_ratios=(1.75, 1))
    _draw_curves(figure.add_subplot(grid[:, 0]), report)
    named: dict[str, Line2D] = {}
    for row, gradient in enumerate(captured):
        axes = figure.add_subplot(grid[row, 1])
        _draw_gradient(axes, gradient)
        named |= {str(line.get_label()): line for line in axes.get_lines()}
    figure.legend(named.values(), named.keys(), loc="outside lower right", ncols=3, frameon=False, fontsize=9)
    return figure


def _draw_curves(axes: Axes, report: Report) -> None:
    epochs = np.arange(report.epochs + 1)
    for training, colour, label, lift in (
        (report.native, NATIVE, "native", 3),
        (report.surrogate, SURROGATE, "under surrogate.override", -6),
    ):
        accuracies = 100 * np.array(training.accuracies)
        axes.plot(epochs, accuracies, color=colour, linewidth=2.4, clip_on=False)
        axes.annotate(
            f"{label}: {accuracies[-1]:.1f}%\n{training.reached:.0%} of the weights got a gradient",
            (epochs[-1], accuracies[-1] + lift),
            ha="right",
            va="top" if lift < 0 else "bottom",
            color=colour,
            fontsize=12,
        )
    axes.set(xlabel="epoch", ylabel="test accuracy (%)", ylim=(0, 100), xlim=(0, report.epochs))
    axes.set_title(f"The same {report.framework} code, trained twice on handwritten digits", loc="left")
    _clean(axes)


def _draw_gradient(axes: Axes, gradient: Gradient) -> None:
    x, forward, slope = curve(gradient, reach=_REACH)
    axes.fill_between(x, slope, color=SURROGATE, alpha=0.12, linewidth=0)
    if gradient.op.name in _FLAT:
        axes.axhline(0, color=NATIVE, linewidth=3, label="native gradient")
    axes.plot(x, slope, color=SURROGATE, linewidth=3, label="surrogate")
    steps = np.where(_jumps(forward), np.nan, forward)
    axes.plot(x, steps, color=FORWARD, linewidth=1.4, label="forward")  # thin: both show where they agree
    axes.set_title(gradient.id, loc="left", fontsize=10, family="monospace")
    axes.set_xlim(-_REACH, _REACH)
    axes.margins(y=0.12)
    _clean(axes)


def _jumps(y: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Where the next value is far away: a line must not be drawn through a jump."""
    return np.append(np.abs(np.diff(y)) > 0.25, False)


def _clean(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25, linewidth=0.6)
