"""A binarised and quantised network in plain JAX, trained by Adam."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def logits(weights: Any, x: Any) -> Any:
    """Binary weights and activations, then activations of 7 levels, then a binary read-out."""
    w1, b1, w2, b2, w3 = weights
    h = jnp.sign(x @ jnp.sign(w1) / len(w1) ** 0.5 + b1)
    z = h @ jnp.sign(w2) / len(w2) ** 0.5 + b2
    q = jnp.round(3 * jnp.clip(z, -1, 1)) / 3
    return 2 * q @ jnp.sign(w3) / len(w3) ** 0.5


def loss(weights: Any, x: Any, y: Any) -> Any:
    """Mean softmax cross-entropy."""
    scores = logits(weights, x)
    return jnp.mean(jax.nn.logsumexp(scores, axis=1) - scores[jnp.arange(len(y)), y])


def adam(state: Any, x: Any, y: Any, rate: Any) -> Any:
    """One step of Adam; weights stay in [-1, 1]."""
    weights, mean, square, reached, count = state
    count = count + 1
    gradients = jax.grad(loss)(weights, x, y)
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradients)
    square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g**2, square, gradients)

    def move(w: Any, m: Any, s: Any) -> Any:
        scale = jnp.sqrt(s / (1 - 0.999**count)) + 1e-8
        return jnp.clip(w - rate / (1 - 0.9**count) * m / scale, -1, 1)

    weights = jax.tree.map(move, weights, mean, square)
    reached = jax.tree.map(lambda r, g: r | (g != 0), reached, gradients)
    return weights, mean, square, reached, count


def epoch_at_once(state: Any, batches: Any) -> Any:
    """All steps of an epoch, as one compiled loop."""
    return jax.lax.scan(lambda state, batch: (adam(state, *batch), None), state, batches)[0]


jitted_step = jax.jit(adam)
jitted_epoch = jax.jit(epoch_at_once)


def train(task: Any, on_epoch: Callable[[float], None]) -> tuple[list[float], float]:
    """The test accuracy before and after each epoch, and the share of weights that got a gradient."""
    weights = [jnp.asarray(w) for w in task.weights]
    zeros = [jnp.zeros_like(w) for w in weights]
    state = (weights, zeros, zeros, [jnp.zeros(w.shape, bool) for w in weights], jnp.zeros(()))

    def accuracy() -> float:
        return float(jnp.mean(jnp.argmax(logits(state[0], task.x_test), axis=1) == task.y_test))

    accuracies = [accuracy()]
    for epoch in range(task.epochs):
        steps = enumerate(task.batches(epoch), start=epoch * task.steps)
        batches = [(x, y, np.float32(task.rate(i))) for i, (x, y) in steps]
        if task.compiled:
            state = jitted_epoch(state, jax.tree.map(lambda *each: jnp.stack(each), *batches))
        else:
            for batch in batches:
                state = jitted_step(state, *batch)
        accuracies.append(accuracy())
        on_epoch(accuracies[-1])
    return accuracies, float(jnp.mean(jnp.concatenate([r.ravel() for r in state[3]])))
