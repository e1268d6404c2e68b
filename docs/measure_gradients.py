"""What the page "Which gradient do I take?" shows: every gradient of the catalogue, on three small tasks.

``python docs/measure_gradients.py`` trains (minutes) and writes ``_data/gradients.json`` and the pictures;
``--draw`` draws again from what was measured. Needs PyTorch, scikit-learn and Matplotlib.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

import surrogate

DOCS = Path(__file__).parent
RESULTS = DOCS / "_data" / "gradients.json"
PICTURES = DOCS / "_static"

SEEDS = (0, 1, 2)
BATCH = 64

#: Parameters of the gradients that have none by default.
GIVEN = {"clipped": "clipped(lo=-2, hi=3)"}


class Binarised(nn.Module):
    """64 -> 128 -> 64 -> 10, every weight and every hidden activation 1 or -1."""

    limit = 1.0  # of a weight's size, as is usual before a sign

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.ParameterList(torch.empty(n, m).uniform_(-0.5, 0.5) for n, m in shapes(128, 64))
        self.biases = nn.ParameterList(torch.empty(m).uniform_(-0.5, 0.5) for _, m in shapes(128, 64)[:2])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first, second, last = (torch.sign(w) / w.shape[0] ** 0.5 for w in self.weights)
        h = torch.sign(x @ first + self.biases[0])
        h = torch.sign(h @ second + self.biases[1])
        return 2 * h @ last


class Quantised(nn.Module):
    """64 -> 32 -> 32 -> 10 with weights and activations of 2 bits, whose steps are learned."""

    limit = None

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.ParameterList(torch.randn(n, m) * n**-0.5 for n, m in shapes(32, 32))
        self.steps = nn.ParameterList((2 * w.abs().mean()).detach() for w in self.weights)
        self.activations = nn.ParameterList(torch.tensor(0.5) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first, second, last = (quantised(w, s, -2, 1) for w, s in zip(self.weights, self.steps, strict=True))
        h = quantised(x @ first, self.activations[0], 0, 3)
        h = quantised(h @ second, self.activations[1], 0, 3)
        return h @ last


class Spiking(nn.Module):
    """64 -> 48 -> 48 -> 10: leaky neurons that fire at 1, six steps in time, a leaky readout."""

    limit = None

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.ParameterList(torch.randn(n, m) * 2 * n**-0.5 for n, m in shapes(48, 48))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first, second, last = self.weights
        current = x @ first
        v = u = readout = torch.zeros(())
        for _ in range(6):
            v, spikes = fires(0.8 * v + current)
            u, spikes = fires(0.8 * u + spikes @ second)
            readout = 0.9 * readout + spikes @ last
        return readout


def fires(v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    spikes = torch.heaviside(v - 1, torch.ones(()))
    return v - spikes, spikes


def shapes(*hidden: int) -> list[tuple[int, int]]:
    widths = (64, *hidden, 10)
    return list(itertools.pairwise(widths))


def quantised(x: torch.Tensor, step: torch.Tensor, lo: int, hi: int) -> torch.Tensor:
    return torch.round(torch.clip(x / step, lo, hi)) * step


class Task(NamedTuple):
    """One task: the op whose gradients are compared on it, and how it is trained."""

    name: str
    title: str
    op: str
    model: Callable[[], Any]
    beside: dict[str, str]
    epochs: int
    rate: float


TASKS = (
    Task("bnn", "Binarised network", "sign", Binarised, {}, 15, 0.01),
    Task("qat", "Weights and activations of 2 bits", "round", Quantised, {"clip": "open"}, 15, 0.005),
    Task("spiking", "Spiking network", "heaviside", Spiking, {}, 12, 0.005),
)


def main(arguments: list[str]) -> None:
    """Measure, write and draw; ``--draw`` only draws."""
    if "--draw" not in arguments:
        torch.set_num_threads(1)
        found = {task.name: {"op": task.op, "gradients": measure(task)} for task in TASKS}
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    draw_all(json.loads(RESULTS.read_text()), PICTURES)


def measure(task: Task, seeds: tuple[int, ...] = SEEDS, epochs: int | None = None) -> dict[str, Any]:
    """Accuracies by gradient: the curve over epochs, in the mean of the seeds, and the last of each seed."""
    found = {}
    for name in surrogate.gradients(task.op):
        spec = GIVEN.get(name, name)
        runs = [train(task, spec, seed, epochs or task.epochs) for seed in seeds]
        found[surrogate.gradient(task.op, spec).spec] = {
            "curve": [round(float(value), 4) for value in np.mean(runs, axis=0)],
            "last": [round(run[-1], 4) for run in runs],
        }
        print(task.name, spec, found[surrogate.gradient(task.op, spec).spec]["last"], flush=True)
    return found


def train(task: Task, spec: str, seed: int, epochs: int) -> list[float]:
    """The share of test images that is classified right: untrained, then after each epoch."""
    torch.manual_seed(seed)
    x, y, x_test, y_test = digits(seed)
    model = task.model()
    optimiser = torch.optim.Adam(model.parameters(), task.rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs)
    accuracies = [accuracy(model, x_test, y_test)]
    with surrogate.override("torch", {task.op: spec, **task.beside}):
        for _ in range(epochs):
            for chosen in torch.randperm(len(x)).split(BATCH):
                optimiser.zero_grad()
                nn.functional.cross_entropy(model(x[chosen]), y[chosen]).backward()
                optimiser.step()
                if model.limit is not None:
                    with torch.no_grad():
                        for parameter in model.parameters():
                            parameter.clamp_(-model.limit, model.limit)
            schedule.step()
            accuracies.append(accuracy(model, x_test, y_test))
    return accuracies


def accuracy(model: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, y: torch.Tensor) -> float:
    with torch.no_grad():
        return float((model(x).argmax(1) == y).float().mean())


def digits(seed: int) -> Iterator[torch.Tensor]:
    images, labels = load_digits(return_X_y=True)
    x, x_test, y, y_test = train_test_split(
        (images / 8 - 1).astype(np.float32), labels, test_size=0.25, stratify=labels, random_state=seed
    )
    return map(torch.as_tensor, (x, y, x_test, y_test))


# -- pictures --------------------------------------------------------------------------------------


def ranked(found: dict[str, Any]) -> list[tuple[str, Any]]:
    return sorted(found.items(), key=lambda item: -np.mean(item[1]["last"]))


def draw_all(found: dict[str, Any], folder: Path) -> None:
    """A picture for each task, on white and on black."""
    for task in TASKS:
        for theme, colours in {"light": ("#1f2933", "#9aa5b1"), "dark": ("#e4e7eb", "#616e7c")}.items():
            draw(task, found[task.name]["gradients"], *colours).savefig(
                folder / f"which-{task.name}-{theme}.png", dpi=110, transparent=True
            )


def draw(task: Task, found: dict[str, Any], ink: str, pale: str) -> Any:
    """Learning curves: the best three, the recommended one and the worst have a colour and a name."""
    from matplotlib.figure import Figure

    order = ranked(found)
    default = surrogate.gradient(task.op, surrogate.op(task.op).default).spec
    named = dict.fromkeys([spec for spec, _ in order[:3]] + [default] + [spec for spec, _ in order[-2:]])
    colours = dict(
        zip(named, ("#2a9d8f", "#3a86ff", "#b07d2b", "#d1495b", "#8d6cab", "#7a8793"), strict=False)
    )
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.add_subplot()
    for spec, runs in order:
        colour = colours.get(spec)
        label = f"{spec}: {100 * np.mean(runs['last']):.1f} %" + (" (recommended)" if spec == default else "")
        axes.plot(
            100 * np.array(runs["curve"]),
            color=colour or pale,
            linewidth=2.2 if colour else 0.9,
            zorder=2 if colour else 1,
            label=label if colour else None,
        )
    axes.set_title(f"{task.title}: the gradients of {task.op}", loc="left", color=ink)
    axes.set(xlabel="epoch", ylabel="test accuracy (%)", ylim=(0, 100), xlim=(0, task.epochs))
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, labelcolor=ink, fontsize=9)
    axes.tick_params(colors=ink)
    axes.xaxis.label.set_color(ink)
    axes.yaxis.label.set_color(ink)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(ink)
    axes.grid(alpha=0.25, linewidth=0.6)
    return figure


if __name__ == "__main__":
    main(sys.argv[1:])
