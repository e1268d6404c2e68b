"""A check of the machinery itself, run when the backend loads: one op in eager mode and under both tapes."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import tensorflow as tf

import surrogate
from surrogate_tensorflow import _hooks

if TYPE_CHECKING:
    from surrogate_tensorflow._backend import TensorFlowBackend

Tensor = Any


def probe(backend: TensorFlowBackend) -> None:
    """Take one gradient in three ways, with and without a rule.

    In a thread of its own: who loads us may be inside a graph, or under tapes.

    Raises:
        IncompatibleFrameworkError: a hook is there but no longer does what it did.
    """
    with ThreadPoolExecutor(1) as thread:
        thread.submit(_probe, backend).result()


def _probe(backend: TensorFlowBackend) -> None:
    x = tf.constant(0.5)
    traced = tf.function(tf.sign, autograph=False)
    ways = {
        "eager mode": lambda x: _slope(tf.sign, x),
        "a tape around a tf.function": lambda x: _slope(traced, x),
        "a tape inside a tf.function": tf.function(lambda x: _slope(tf.sign, x), autograph=False),
    }
    for way, slope in ways.items():
        found = []
        for spec in ("identity", "native"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", surrogate.NothingCapturedWarning)
                with surrogate.override(backend, {"sign": spec}):
                    found.append(float(slope(x)))
        if found != [1.0, 0.0]:
            raise surrogate.IncompatibleFrameworkError(
                f"tensorflow {tf.__version__}: in {way} the gradient of tf.sign under a rule, and then "
                f"without one, is {found} and should be [1.0, 0.0]; tested with {_hooks.TESTED}."
            )


def _slope(f: Any, x: Tensor) -> Tensor:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)
