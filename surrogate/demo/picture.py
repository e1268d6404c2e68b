"""The demo's picture: both learning curves, and each op drawn with its surrogate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from surrogate._curve import curve
from surrogate._gradient import Gradient
from surrogate.demo.runner import Report

if TYPE_CHECKING:
    import numpy.typing as npt

NATIVE, SURROGATE, FORWARD = "#8a8f98", "#d1495b", "#1f2933"

_REACH = 2.75


def save(report: Report, path: Path) -> None:
    """Write the picture of a report; the suffix of ``path`` decides the format."""
    draw(report).savefig(path, dpi=150)


def draw(report: Report) -> Figure:
    """The picture of a report."""
    captured = [gradient for op, gradient in report.rules.items() if report.hits.get(op)]
    figure = Figure(figsize=(10, 4.6), layout="constrained")
    grid = figure.add_gridspec(max(len(captured), 1), 2, width_ratios=(1.7, 1))
    _draw_curves(figure.add_subplot(grid[:, 0]), report)
    for row, gradient in enumerate(captured):
        _draw_gradient(figure.add_subplot(grid[row, 1]), gradient)
    return figure


def _draw_curves(axes: Axes, report: Report) -> None:
    epochs = np.arange(report.epochs + 1)
    for training, colour, label, lift in (
        (report.surrogate, SURROGATE, "under surrogate.override", -9),
        (report.native, NATIVE, "native", 4),
    ):
        accuracies = 100 * np.array(training.accuracies)
        axes.plot(epochs, accuracies, color=colour, linewidth=2.2, solid_capstyle="round")
        axes.annotate(
            f"{label}: {accuracies[-1]:.1f} %\n{training.reached:.0%} of the weights got a gradient",
            (epochs[-1], accuracies[-1] + lift),
            ha="right",
            va="top" if lift < 0 else "bottom",
            color=colour,
            fontsize=11,
        )
    axes.set(xlabel="epoch", ylabel="test accuracy (%)", ylim=(0, 102), xlim=(0, report.epochs))
    axes.set_title(f"The same {report.framework} code, trained twice on handwritten digits", loc="left")
    _clean(axes)


def _draw_gradient(axes: Axes, gradient: Gradient) -> None:
    x, forward, slope = curve(gradient, reach=_REACH)
    axes.fill_between(x, slope, color=SURROGATE, alpha=0.15, linewidth=0)
    axes.plot(x, slope, color=SURROGATE, linewidth=2, label="gradient in the backward")
    axes.plot(x, np.where(_jumps(forward), np.nan, forward), color=FORWARD, linewidth=2, label="forward")
    axes.set_title(gradient.id, loc="left", fontsize=10, family="monospace")
    axes.set_xlim(-_REACH, _REACH)
    axes.legend(frameon=False, fontsize=8, loc="upper left", handlelength=1.5)
    _clean(axes)


def _jumps(y: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Where the next value is far away: a line must not be drawn through a jump."""
    return np.append(np.abs(np.diff(y)) > 0.25, False)


def _clean(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25, linewidth=0.6)
