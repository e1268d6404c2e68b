"""Arrays and variables as tensors: what a gradient's parameters are where they are no numbers.

A variable is a resource that graphs read when they run: it may change, and nothing is traced again.
"""

from __future__ import annotations

import itertools
import weakref
from typing import Any

import tensorflow as tf

import surrogate

_NARROW = frozenset({tf.float16, tf.bfloat16})
_count = itertools.count()


class _Dial:
    """A resource of TensorFlow's in one dtype that follows a variable of ours.

    No ``tf.Variable``: one may not be made while a function is traced for the second time, or more often.
    """

    def __init__(self, array: Any, dtype: Any) -> None:
        self._dtype, self._shape = dtype, array.shape
        with tf.init_scope():  # made while a function is traced, it outlives the graph
            self._handle = tf.raw_ops.VarHandleOp(
                dtype=dtype, shape=array.shape, shared_name=f"surrogate_{next(_count)}"
            )
        self.set(array)
        end = weakref.finalize(self, tf.raw_ops.DestroyResourceOp, resource=self._handle)
        end.atexit = False  # TensorFlow is gone by then

    def set(self, array: Any) -> None:
        with tf.init_scope():
            tf.raw_ops.AssignVariableOp(resource=self._handle, value=tf.constant(array, self._dtype))

    def read(self) -> Any:
        found = tf.raw_ops.ReadVariableOp(resource=self._handle, dtype=self._dtype)
        found.set_shape(self._shape)  # a graph does not see it from the handle
        return found


class _Constant:
    """A tensor in eager mode; graphs have a constant of their own, since forward mode takes in no other's."""

    def __init__(self, array: Any, dtype: Any) -> None:
        self._array, self._dtype = array, dtype
        with tf.init_scope():
            self._tensor = tf.constant(array, dtype)

    def read(self) -> Any:
        return self._tensor if tf.executing_eagerly() else tf.constant(self._array, self._dtype)


def parameter(value: surrogate.ParameterValue, like: Any) -> Any:
    """The tensor of a value now, in the dtype of ``like``, or float32 if that is narrower."""
    dtype = tf.float32 if like.dtype in _NARROW else like.dtype
    kind = _Dial if value.changes else _Constant
    return value.mirror(("tensorflow", dtype.name), lambda array: kind(array, dtype)).read()
