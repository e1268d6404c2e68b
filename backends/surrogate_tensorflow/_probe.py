"""A check of the machinery itself: one op in a graph and, when TensorFlow's runtime is up, in eager mode.

TensorFlow can be configured (threads, devices, memory) only until its first op has run. So loading the
backend runs none: what needs the runtime is checked when the user's own code brings it up.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import tensorflow as tf

import surrogate
from surrogate_tensorflow import _hooks

if TYPE_CHECKING:
    from surrogate_tensorflow._backend import TensorFlowBackend

Tensor = Any


def probe(backend: TensorFlowBackend, refuse: Callable[[BaseException], None]) -> None:
    """Take one gradient in several ways, with and without a rule: now, and when the runtime comes up.

    In a thread of its own: who loads us may be inside a graph, or under tapes.

    Args:
        backend: the backend.
        refuse: called with the error if the check that comes later fails. The error is then raised from the
            first op of the user's code.

    Raises:
        IncompatibleFrameworkError: a hook is there but no longer does what it did.
    """
    _in_a_thread(_in_graphs, backend)
    if _hooks.runtime_is_up():
        _in_a_thread(_running, backend)
    else:
        _when_the_runtime_comes_up(backend, refuse)


def _when_the_runtime_comes_up(backend: TensorFlowBackend, refuse: Callable[[BaseException], None]) -> None:
    native = _hooks.initialize.native

    def initialize(self: Any) -> None:
        native(self)
        _hooks.initialize.restore()
        captured = set(backend.store.seen)
        try:
            _in_a_thread(_running, backend)
        except Exception as error:
            refuse(error)
            raise
        backend.store.seen.intersection_update(captured)  # the rest runs in nobody's code

    _hooks.initialize.replace(initialize)


def _in_a_thread(check: Callable[[TensorFlowBackend], None], backend: TensorFlowBackend) -> None:
    with ThreadPoolExecutor(1) as thread:
        thread.submit(check, backend).result()


def _in_graphs(backend: TensorFlowBackend) -> None:
    """Without the runtime: in a graph that never runs, the slopes are constants."""

    def by_gradients() -> Any:
        x = tf.constant(0.5)
        return tf.get_static_value(tf.gradients(tf.sign(x), x)[0])

    def by_a_tape() -> Any:
        return tf.get_static_value(_slope(tf.sign, tf.constant(0.5)))

    with tf.Graph().as_default():
        _check(backend, "tf.gradients in a graph", by_gradients)
        _check(backend, "a tape inside a graph", by_a_tape)


def _running(backend: TensorFlowBackend) -> None:
    x = tf.constant(0.5)
    around = tf.function(tf.sign, autograph=False)
    inside = tf.function(lambda x: _slope(tf.sign, x), autograph=False)
    _check(backend, "eager mode", lambda: _slope(tf.sign, x))
    _check(backend, "a tape around a tf.function", lambda: _slope(around, x))
    _check(backend, "a tape inside a tf.function", lambda: inside(x))


def _check(backend: TensorFlowBackend, way: str, slope: Callable[[], Any]) -> None:
    found = []
    for spec in ("identity", "native"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", surrogate.NothingCapturedWarning)
            with surrogate.override(backend, {"sign": spec}):
                found.append(float(slope()))
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
