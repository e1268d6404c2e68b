"""The demo's data and start: scikit-learn's digits, which are part of that package."""

from __future__ import annotations

import numpy as np

from surrogate._extras import extra_module
from surrogate.demo.protocol import Floats, Task

#: Widths of the network: pixels, two hidden layers, digits.
WIDTHS = (64, 128, 64, 10)


def make_task(*, epochs: int, seed: int, compiled: bool = False) -> Task:
    """The digits, a quarter of them set aside for the test, and untrained weights.

    Args:
        epochs: how many times to go through the training images.
        seed: of the split, the weights and the order of the images.
        compiled: see :class:`surrogate.demo.protocol.Task`.

    Raises:
        MissingExtraError: scikit-learn is not installed.
    """
    datasets = extra_module("sklearn.datasets", extra="demo", purpose="the demo's data")
    selection = extra_module("sklearn.model_selection", extra="demo", purpose="the demo's data")
    images, digits = datasets.load_digits(return_X_y=True)
    pixels = (images / 8 - 1).astype(np.float32)
    x_train, x_test, y_train, y_test = selection.train_test_split(
        pixels, digits.astype(np.int64), test_size=0.25, stratify=digits, random_state=seed
    )
    return Task(x_train, y_train, x_test, y_test, untrained(seed), epochs, seed, compiled)


def untrained(seed: int) -> tuple[Floats, ...]:
    """Weights and biases in [-0.5, 0.5], inside every window in use."""
    random = np.random.default_rng(seed)
    pixels, first, second, digits = WIDTHS
    shapes = ((pixels, first), (first,), (first, second), (second,), (second, digits))
    return tuple(random.uniform(-0.5, 0.5, shape).astype(np.float32) for shape in shapes)
