"""How the conformance kit drives TensorFlow."""

from __future__ import annotations

import gc
import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import keras
import numpy as np
import tensorflow as tf
import tensorflow.experimental.numpy as tnp

from surrogate import Driver, Spelling, UnknownNameError
from surrogate_tensorflow import _hooks, _uses
from surrogate_tensorflow._spellings import OP_TYPES

Array = Any
Function = Callable[..., Array]
_ZERO = tf.UnconnectedGradients.ZERO


def _raw(op_type: str, *names: str) -> Function:
    return lambda *inputs: getattr(tf.raw_ops, op_type)(**dict(zip(names, inputs, strict=True)))


def _round(x: Array, decimals: int = 0) -> Array:
    return keras.ops.round(x, decimals) if decimals else tf.round(x)  # only Keras has decimals


def _fmod(x: Array, y: Array) -> Array:
    """``tf.truncatemod`` has no kernel for float16 and bfloat16."""
    halves = any(tf.is_tensor(v) and v.dtype.size == 2 for v in (x, y))
    return keras.ops.fmod(x, y) if halves and hasattr(keras.ops, "fmod") else tf.truncatemod(x, y)


def _keras(name: str) -> dict[str, Function | Spelling]:
    """The function of Keras, in versions that have it."""
    return {f"keras.ops.{name}": getattr(keras.ops, name)} if hasattr(keras.ops, name) else {}


def _named(op: str) -> dict[str, Function | Spelling]:
    """The functions of the op's name, and the raw ops that are the op."""
    places = {"tf.math": tf.math, "keras.ops": keras.ops, "tnp": tnp}
    found = {f"{place}.{op}": getattr(module, op) for place, module in places.items() if hasattr(module, op)}
    for op_type in (op_type for op_type, name in OP_TYPES.items() if name == op):
        *inputs, _ = inspect.signature(getattr(tf.raw_ops, op_type)).parameters  # the last is "name"
        found[f"raw_ops.{op_type}"] = _raw(op_type, *inputs)
    return found


#: What is written in other ways than by the functions of the op's name.
_SPELLINGS: dict[str, dict[str, Function | Spelling]] = {
    "round": {
        "tf.round": _round,
        "tf.math.rint": tf.math.rint,
        "raw_ops.Round": _raw("Round", "x"),
        "raw_ops.Rint": _raw("Rint", "x"),
        **_keras("round"),
        "keras.ops.round(x, 1)": Spelling(lambda x: keras.ops.round(x, 1), attributes={"decimals": 1}),
    },
    "trunc": {**_keras("trunc"), "tnp.fix": tnp.fix},
    "relu": {
        "tf.nn.relu": tf.nn.relu,
        "raw_ops": _raw("Relu", "features"),
        **_keras("relu"),
        "layer": lambda x: keras.layers.ReLU()(x),
        "activation": keras.activations.relu,
        "Activation": lambda x: keras.layers.Activation("relu")(x),
    },
    "relu6": {
        "tf.nn.relu6": tf.nn.relu6,
        "raw_ops": _raw("Relu6", "features"),
        **_keras("relu6"),
        "layer": lambda x: keras.layers.ReLU(max_value=6)(x),
        "activation": keras.activations.relu6,
    },
    "abs": {
        "tf.abs": tf.abs,
        "abs(x)": abs,
        "raw_ops": _raw("Abs", "x"),
        "tnp": tnp.abs,
        **_keras("absolute"),
    },
    "mod": {
        "tf.math.floormod": tf.math.floormod,
        "x % y": operator.mod,
        "tf.math.mod": tf.math.mod,
        "tf.compat.v1.mod": tf.compat.v1.mod,
        "raw_ops": _raw("FloorMod", "x", "y"),
        "tnp.mod": tnp.mod,
        "tnp.remainder": tnp.remainder,
        **_keras("mod"),
        "tnp.divmod(x, y)[1]": lambda x, y: tnp.divmod(x, y)[1],
        "x % 2.0": Spelling(lambda x: x % 2.0, {"y": 2.0}),
        "2.0 % y": Spelling(lambda y: 2.0 % y, {"x": 2.0}),
    },
    "fmod": {
        "tf.truncatemod": _fmod,
        "raw_ops.TruncateMod": _raw("TruncateMod", "x", "y"),
        "raw_ops.Mod": _raw("Mod", "x", "y"),
        **_keras("fmod"),
    },
    "floor_divide": {
        "tf.math.floordiv": tf.math.floordiv,
        "x // y": operator.floordiv,
        "tf.compat.v1.floor_div": tf.compat.v1.floor_div,
        "raw_ops": _raw("FloorDiv", "x", "y"),
        "tnp": tnp.floor_divide,
        **_keras("floor_divide"),
        "2.0 // y": Spelling(lambda y: 2.0 // y, {"x": 2.0}),
    },
    "clip": {
        "tf.clip_by_value": tf.clip_by_value,
        "keywords": lambda x, lo, hi: tf.clip_by_value(x, clip_value_max=hi, clip_value_min=lo),
        "raw_ops": Spelling(
            lambda x: tf.raw_ops.ClipByValue(t=x, clip_value_min=-1.0, clip_value_max=2.0),
            {"lo": -1.0, "hi": 2.0},
        ),
        **_keras("clip"),
        "tnp": tnp.clip,
        "tnp.clip(x, None, 2.0)": Spelling(lambda x: tnp.clip(x, None, 2.0), {"lo": -np.inf, "hi": 2.0}),
        "tnp.clip(x, -1.0, None)": Spelling(lambda x: tnp.clip(x, -1.0, None), {"lo": -1.0, "hi": np.inf}),
    },
}


class TensorFlowDriver(Driver):
    """TensorFlow by tapes, accumulators and ``tf.function``."""

    def asarray(self, x: Any) -> Array:
        """A constant."""
        return tf.constant(x)

    def on(self, device: str) -> AbstractContextManager[None]:
        """A logical device, as ``GPU:0``."""
        known = [one.name.removeprefix("/device:") for one in tf.config.list_logical_devices()]
        if device not in known:
            raise UnknownNameError(f"TensorFlow has no device {device!r} here: it has {', '.join(known)}.")
        context: AbstractContextManager[None] = tf.device(device)
        return context

    def numpy(self, x: Array) -> Any:
        """The values."""
        return np.asarray(x)

    def convertible(self) -> Mapping[str, Callable[[Any], Any]]:
        """Variables of TensorFlow and of Keras, and arrays of a subclass."""
        return {
            "a subclass of NumPy's": lambda x: x.view(np.memmap),
            "a Variable": tf.Variable,
            "a Keras variable": keras.Variable,
        }

    def spellings(self, op: str) -> Mapping[str, Function | Spelling]:
        """Functions of ``tf``, of Keras and of ``tf.experimental.numpy``, layers and operators."""
        return _SPELLINGS.get(op) or _uses.SPELLINGS.get(op) or _named(op)

    def consumers(self) -> Mapping[str, Mapping[str, Function]]:
        """Functions of ``tf``, of Keras and of ``tf.experimental.numpy``, and operators."""
        return _uses.CONSUMERS

    def grad(self, f: Function, inputs: Sequence[Array], g: Array) -> tuple[Array, tuple[Array, ...]]:
        """A tape; unconnected inputs get zeros."""
        return reverse(f, inputs, g)

    def jvp(self, f: Function, inputs: Sequence[Array], tangents: Sequence[Array]) -> tuple[Array, Array]:
        """A ForwardAccumulator."""
        return forward(f, inputs, tangents)

    def compile(self, f: Function) -> Function:
        """``tf.function``."""
        compiled: Function = tf.function(f, autograph=False)
        return compiled

    def vmap(self, f: Function) -> Function:
        """``tf.vectorized_map``, without falling back to a loop."""
        return vectorized(f)

    def residuals(self, f: Function, inputs: Sequence[Array]) -> int:
        """Bytes of the tensors that a tape holds after the inputs are gone."""
        return kept_bytes(f, inputs)


def reverse(f: Callable[..., Array], inputs: Sequence[Array], g: Array) -> tuple[Array, tuple[Array, ...]]:
    """The value and the cotangents."""
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        value = f(*inputs)
    found = tape.gradient(value, list(inputs), output_gradients=g, unconnected_gradients=_ZERO)
    return value, tuple(map(tf.convert_to_tensor, found))  # of a table that was looked up there are slices


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
