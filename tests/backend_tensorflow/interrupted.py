"""What is interrupted; see ``tests/interrupts.py``. Nothing runs at import: a fork must find no runtime."""

import keras  # noqa: F401  as whoever trains has; imported half, it would stay so
import numpy as np
import tensorflow as tf

BACKEND = "tensorflow"
RULES = {"sign": "arctan", "round": "identity", "clip": "half", "compare": "sigmoid"}

#: Raised by TensorFlow's C++, and by pybind11 there, in place of an interrupt in the Python that it calls.
INSTEAD = ("RuntimeError", "SystemError")

#: Functions that TensorFlow's C++ calls, or that call it, and in which an exception crashes the process or
#: leaves it half done, natively too.
SPARED = (
    "_aggregate_grads",
    "_fast_fill",
    "_num_elements",
    "_ones",
    "_ones_like",
    "_xla_gc_callback",
    "_zeros",
    "_zeros_like",
    "convert_to_eager_tensor",
    "variable_accessed",
)

_W = np.linspace(-2, 2, 24 * 24, dtype=np.float32).reshape(24, 24)


def _loss(w):
    squares = tf.reduce_mean(tf.square(tf.matmul(tf.sign(w), tf.round(4 * w))))
    return squares + tf.reduce_sum(tf.clip_by_value(w, -0.5, 0.5) * tf.cast(w > 0.25, w.dtype))


def _gradient(loss):
    w = tf.constant(_W)
    with tf.GradientTape() as tape:
        tape.watch(w)
        value = loss(w)
    return tape.gradient(value, w, unconnected_gradients=tf.UnconnectedGradients.ZERO).numpy()


def eager(scope):
    with scope():
        return _gradient(_loss)


def backward_later(scope):
    w = tf.constant(_W)
    with scope(), tf.GradientTape() as tape:
        tape.watch(w)
        value = _loss(w)
    return tape.gradient(value, w, unconnected_gradients=tf.UnconnectedGradients.ZERO).numpy()


def recomputed(scope):
    with scope():
        return _gradient(tf.recompute_grad(_loss))


_compiled = tf.function(_loss, autograph=False)


def compiled(scope):
    with scope():
        return _gradient(_compiled)


def tracing(scope):
    with scope():
        return _gradient(tf.function(_loss, autograph=False))


STEPS = {step.__name__: step for step in (eager, backward_later, recomputed, compiled, tracing)}
