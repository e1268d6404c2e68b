"""A binarised and quantised network in plain autograd, trained by Adam."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import autograd.numpy as np
from autograd import grad


def logits(weights: Any, x: Any) -> Any:
    """Binary weights and activations, then activations of 7 levels, then a binary read-out."""
    w1, b1, w2, b2, w3 = weights
    h = np.sign(x @ np.sign(w1) / len(w1) ** 0.5 + b1)
    z = h @ np.sign(w2) / len(w2) ** 0.5 + b2
    q = np.round(3 * np.clip(z, -1, 1)) / 3
    return 2 * q @ np.sign(w3) / len(w3) ** 0.5


def loss(weights: Any, x: Any, y: Any) -> Any:
    """Mean softmax cross-entropy."""
    scores = logits(weights, x)
    right = scores[np.arange(len(y)), y]
    return np.mean(np.log(np.sum(np.exp(scores), axis=1)) - right)


def train(task: Any, on_epoch: Callable[[float], None]) -> tuple[list[float], float]:
    """The test accuracy before and after each epoch, and the share of weights that got a gradient."""
    weights = list(task.weights)
    mean = [np.zeros_like(w) for w in weights]
    square = [np.zeros_like(w) for w in weights]
    reached = [np.zeros(w.shape, bool) for w in weights]
    gradients = grad(loss)

    def accuracy() -> float:
        return float(np.mean(np.argmax(logits(weights, task.x_test), axis=1) == task.y_test))

    accuracies = [accuracy()]
    step = 0
    for epoch in range(task.epochs):
        for x, y in task.batches(epoch):
            rate = task.rate(step)
            step += 1
            for i, g in enumerate(gradients(weights, x, y)):
                reached[i] |= g != 0
                mean[i] = 0.9 * mean[i] + 0.1 * g
                square[i] = 0.999 * square[i] + 0.001 * g**2
                scale = np.sqrt(square[i] / (1 - 0.999**step)) + 1e-8
                change = rate / (1 - 0.9**step) * mean[i] / scale
                weights[i] = np.clip(weights[i] - change, -1, 1).astype(np.float32)
        accuracies.append(accuracy())
        on_epoch(accuracies[-1])
    return accuracies, float(np.mean(np.concatenate([r.ravel() for r in reached])))
