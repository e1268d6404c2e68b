"""What the demo and its model files agree on.

The model for the backend ``x`` is ``surrogate/demo/models/x_model.py``: plain code of its framework, with
one function ``train(task, on_epoch)`` (see :class:`Train`) and no mention of surrogate gradients. The demo
calls it twice, natively and under an override, and compares.

The network, written with the framework's own ``sign``, ``round`` and ``clip``, in float32::

    w1, b1, w2, b2, w3 = weights                                     # 64 -> 128 -> 64 -> 10
    h = sign(x @ sign(w1) / sqrt(len(w1)) + b1)                      # binary weights and activations
    z = h @ sign(w2) / sqrt(len(w2)) + b2
    q = round(3 * clip(z, -1, 1)) / 3                                # activations of 7 levels
    logits = 2 * q @ sign(w3) / sqrt(len(w3))

The loss is the mean softmax cross-entropy. Every weight lies before a ``sign`` or a ``round``, and there is
no bias at the end: natively all gradients are 0 (or missing), so that an untrained network stays one.

Training is Adam (0.9, 0.999, 1e-8) at ``task.rate(step)``, on ``task.batches(epoch)``; after each step every
weight is clipped to [-1, 1], as is usual for weights that stand before a ``sign``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Task:
    """All that a model file is given, in NumPy, so that every framework starts from the same numbers.

    Attributes:
        x_train, y_train: images of shape (n, 64), float32 in [-1, 1], and digits of shape (n,), int64.
        x_test, y_test: the same, never trained on.
        weights: where training starts: w1, b1, w2, b2, w3, float32. Copy them, do not write to them.
        epochs: how many times to go through the training images.
        seed: of the order of the images.
        compiled: compile more than users of the framework do anyway: ``torch.compile``,
            ``tf.function(jit_compile=True)``, a whole epoch in one jitted loop of JAX. Only set for backends
            that claim ``"compile"``.
    """

    x_train: Floats
    y_train: Integers
    x_test: Floats
    y_test: Integers
    weights: tuple[Floats, ...]
    epochs: int
    seed: int
    compiled: bool = False

    batch: int = 32
    learning_rate: float = 0.01

    def batches(self, epoch: int) -> Iterator[tuple[Floats, Integers]]:
        """The training images of an epoch (from 0), shuffled, in batches of one size."""
        order = np.random.default_rng((self.seed, epoch)).permutation(len(self.x_train))
        for chosen in order[: self.steps * self.batch].reshape(self.steps, self.batch):
            yield self.x_train[chosen], self.y_train[chosen]

    @property
    def steps(self) -> int:
        """How many batches an epoch has."""
        return len(self.x_train) // self.batch

    def rate(self, step: int) -> float:
        """The learning rate at a step, counted from 0 over all epochs: falls linearly, nearly to 0."""
        return self.learning_rate * (1 - 0.98 * step / (self.epochs * self.steps))


class Outcome(NamedTuple):
    """What a training returns. A plain tuple does."""

    #: Share of the test images that are classified right: untrained, then after each epoch.
    accuracies: list[float]
    #: Share of all weights (single numbers, not arrays) whose gradient was not 0 at least once.
    #: A missing gradient (None) counts as 0.
    reached: float


class Train(Protocol):
    """The one function of a model file."""

    def __call__(self, task: Task, on_epoch: Callable[[float], None]) -> tuple[list[float], float]:
        """Train the network. Nothing is printed.

        Args:
            task: data, start and settings.
            on_epoch: to be called with the test accuracy after each epoch (``task.epochs`` times).

        Returns:
            What :class:`Outcome` describes.
        """
