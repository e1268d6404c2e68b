"""Formulas for TensorFlow's own ops that come with the backend."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from surrogate import NativeCall


def spread(call: NativeCall, g: Any) -> Any:
    """Every element of a pooling window gets an equal share: the derivative of the mean."""
    names = "ksize", "strides", "padding", "data_format"
    given = {name: call.attributes[name] for name in names}
    return tf.raw_ops.AvgPoolGrad(orig_input_shape=tf.shape(call.inputs[0]), grad=g, **given)


def finite(call: NativeCall, g: Any) -> Any:
    """The root's derivative, and 0 where the root is 0."""
    root = call.outputs[0]
    one, zero = tf.ones_like(root), tf.zeros_like(root)
    return tf.where(root > 0, g / (2 * tf.where(root > 0, root, one)), zero)


#: op type -> formulas by name.
PACK = {"MaxPool": {"spread": spread}, "Sqrt": {"finite": finite}}
