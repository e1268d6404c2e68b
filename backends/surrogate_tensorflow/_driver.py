"""How the conformance kit drives TensorFlow."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Any

import keras
import tensorflow as tf
import tensorflow.experimental.numpy as tnp

from surrogate_tensorflow import _hooks

Array = Any
_ZERO = tf.UnconnectedGradients.ZERO

_SPELLINGS: dict[str, Callable[..., Array]] = {
    "sign": tf.sign,
    "round": tf.round,
    "floor": tf.floor,
    "ceil": tf.math.ceil,
    "trunc": getattr(keras.ops, "trunc", tnp.fix),
    "mod": tf.math.floormod,
    "fmod": tf.truncatemod,
    "floor_divide": tf.math.floordiv,
    "heaviside": getattr(keras.ops, "heaviside", tnp.heaviside),
    "clip": tf.clip_by_value,
    "relu": tf.nn.relu,
    "relu6": tf.nn.relu6,
    "abs": tf.abs,
    "maximum": tf.maximum,
    "minimum": tf.minimum,
}


def call(op: str, inputs: Sequence[Array], attributes: dict[str, Any]) -> Array:
    """The op as a user spells it."""
    function = _SPELLINGS[op]
    if attributes:  # only round has any, and only Keras has it
        function = keras.ops.round
    elif op == "fmod" and hasattr(keras.ops, "fmod") and _halves(inputs):
        function = keras.ops.fmod  # tf.truncatemod has no kernel for float16 and bfloat16
    return function(*inputs, **attributes)


def _halves(inputs: Sequence[Array]) -> bool:
    """Whether the arrays among the inputs, which may be Python numbers, are float16 or bfloat16."""
    return any(tf.is_tensor(x) and x.dtype.size == 2 for x in inputs)


def reverse(f: Callable[..., Array], inputs: Sequence[Array], g: Array) -> tuple[Array, tuple[Array, ...]]:
    """The value and the cotangents."""
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        value = f(*inputs)
    return value, tuple(tape.gradient(value, list(inputs), output_gradients=g, unconnected_gradients=_ZERO))


def forward(
    f: Callable[..., Array], inputs: Sequence[Array], tangents: Sequence[Array]
) -> tuple[Array, Array]:
    """The value and its tangent."""
    with tf.autodiff.ForwardAccumulator(list(inputs), list(tangents)) as accumulator:
        value = f(*inputs)
    return value, accumulator.jvp(value, unconnected_gradients=_ZERO)


def vectorized(f: Callable[..., Any]) -> Callable[..., Any]:
    """``f`` over a new leading axis of every input."""
    return lambda *xs: tf.vectorized_map(lambda x: f(*x), xs, fallback_to_while_loop=False)


def kept_bytes(f: Callable[..., Array], inputs: Sequence[Array]) -> int:
    """Bytes of the tensors that a tape keeps alive after ``f``, when inputs and value are dropped.

    Tensors that TensorFlow keeps for its own native gradients are not seen.
    """
    before = set(map(id, _tensors()))
    with tf.GradientTape() as tape:
        copies = [tf.identity(x) for x in inputs]
        tape.watch(copies)
        value = f(*copies)
    del copies, value
    kept = [x for x in _tensors() if id(x) not in before]
    return sum(x.shape.num_elements() * x.dtype.size for x in kept)


def _tensors() -> list[Any]:
    gc.collect()
    eager = _hooks.eager_tensor.native
    return [x for x in gc.get_objects() if type(x) is eager]
