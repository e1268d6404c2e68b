"""A binarised and quantised network in plain PyTorch, trained by Adam."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional


class Network(nn.Module):  # type: ignore[misc]  # torch is not read by mypy here
    """Binary weights and activations, then activations of 7 levels, then a binary read-out."""

    def __init__(self, start: Any) -> None:
        super().__init__()
        w1, b1, w2, b2, w3 = (nn.Parameter(torch.tensor(w)) for w in start)
        self.w1, self.b1, self.w2, self.b2, self.w3 = w1, b1, w2, b2, w3

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The scores of the ten digits."""
        h = torch.sign(x @ self.w1.sign() / len(self.w1) ** 0.5 + self.b1)
        z = h @ self.w2.sign() / len(self.w2) ** 0.5 + self.b2
        q = torch.round(3 * z.clamp(-1, 1)) / 3
        return 2 * q @ self.w3.sign() / len(self.w3) ** 0.5


def train(task: Any, on_epoch: Callable[[float], None]) -> tuple[list[float], float]:
    """The test accuracy before and after each epoch, and the share of weights that got a gradient."""
    torch.set_num_threads(1)  # matrices this small take longer on several
    network = Network(task.weights)
    optimiser = torch.optim.Adam(network.parameters(), betas=(0.9, 0.999), eps=1e-8)
    reached = [torch.zeros_like(w, dtype=torch.bool) for w in network.parameters()]
    x_test, y_test = torch.tensor(task.x_test), torch.tensor(task.y_test)

    scores = torch.compile(network) if task.compiled else network

    def accuracy() -> float:
        with torch.no_grad():
            return float((network(x_test).argmax(1) == y_test).float().mean())

    accuracies = [accuracy()]
    step = 0
    for epoch in range(task.epochs):
        for x, y in task.batches(epoch):
            optimiser.param_groups[0]["lr"] = task.rate(step)
            step += 1
            optimiser.zero_grad()
            functional.cross_entropy(scores(torch.from_numpy(x)), torch.from_numpy(y)).backward()
            optimiser.step()
            with torch.no_grad():
                for seen, w in zip(reached, network.parameters(), strict=True):
                    seen |= w.grad != 0
                    w.clamp_(-1, 1)
        accuracies.append(accuracy())
        on_epoch(accuracies[-1])
    return accuracies, float(torch.cat([r.flatten() for r in reached]).float().mean())
