"""How users of TensorFlow write ops that give booleans and integers, and what they do with those."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import keras
import tensorflow as tf
import tensorflow.experimental.numpy as tnp

from surrogate import Spelling

Function = Callable[..., Any]


def _ordering(operation: Function, name: str) -> dict[str, Function | Spelling]:
    return {
        f"operator.{operation.__name__}": operation,
        f"tf.{name}": getattr(tf, name),
        f"keras.ops.{name}": getattr(keras.ops, name),
        f"tnp.{name}": getattr(tnp, name),
    }


def _argument(name: str) -> dict[str, Function | Spelling]:
    along = {"axis": 1}
    return {
        f"tf.{name}": lambda x, axis: getattr(tf, name)(x, axis),
        f"keras.ops.{name}": Spelling(lambda x: getattr(keras.ops, name)(x, axis=1), attributes=along),
        f"tf.{name}(output_type)": Spelling(
            lambda x: getattr(tf, name)(x, axis=-1, output_type=tf.int32), attributes=along
        ),
        f"tnp.{name}": Spelling(lambda x: getattr(tnp, name)(x, 1), attributes=along),
    }


def _astype(x: Any, to: str = "integer") -> Any:
    return tf.cast(x, tf.bool if to == "bool" else tf.int64)


_RIGHT = {"side": "right"}

SPELLINGS: dict[str, dict[str, Function | Spelling]] = {
    "greater": _ordering(operator.gt, "greater"),
    "greater_equal": _ordering(operator.ge, "greater_equal"),
    "less": _ordering(operator.lt, "less"),
    "less_equal": _ordering(operator.le, "less_equal"),
    "equal": _ordering(operator.eq, "equal"),
    "not_equal": _ordering(operator.ne, "not_equal"),
    "argmax": _argument("argmax"),
    "argmin": _argument("argmin"),
    "astype": {
        "tf.cast": _astype,
        "keras.ops.cast": lambda x: keras.ops.cast(x, "int32"),
        "tf.cast(bool)": Spelling(lambda x: tf.cast(x, tf.bool), attributes={"to": "bool"}),
    },
    "searchsorted": {
        "tf.searchsorted": lambda x, b, side="left": tf.reshape(
            tf.searchsorted(b, tf.reshape(x, [-1]), side=side), x.shape
        ),
        "tf.searchsorted(right)": Spelling(
            lambda x, b: tf.reshape(tf.searchsorted(b, tf.reshape(x, [-1]), "right"), x.shape),
            attributes=_RIGHT,
        ),
    },
}


def _number(d: Any) -> Any:
    """TensorFlow reckons with no booleans."""
    return tf.cast(d, tf.int32) if d.dtype == tf.bool else d


def _float(d: Any, o: Any) -> Any:
    return tf.cast(d, o.u.dtype)


def _column(i: Any) -> Any:
    return i[:, None]


_SWAPPED, _CLASSES = [1, 0], [0, 1, 2]

CONSUMERS: Mapping[str, Mapping[str, Function]] = {
    "cast": {
        "tf.cast": _float,
        "keras.ops.cast": lambda d, o: keras.ops.cast(d, o.u.dtype.name),
    },
    "times": {
        "tf.cast(b) * x": lambda d, o: _float(d, o) * o.u,
        "tnp.multiply": lambda d, o: tnp.multiply(d, o.u),
        "keras.ops.multiply": lambda d, o: keras.ops.multiply(keras.ops.cast(d, o.u.dtype.name), o.u),
    },
    "minus": {
        "x - tf.cast(b)": lambda d, o: o.u - _float(d, o),
        "tnp.subtract": lambda d, o: tnp.subtract(o.u, _number(d)),
    },
    "plus": {"tf.cast(b) + x": lambda d, o: _float(d, o) + o.u, "tnp.add": lambda d, o: tnp.add(d, o.u)},
    "sum": {
        "tf.reduce_sum of integers": lambda d, o: _float(tf.reduce_sum(_number(d)), o) * o.u,
        "tf.reduce_sum of floats": lambda d, o: tf.reduce_sum(_float(d, o)) * o.u,
    },
    "sum of an axis": {
        "tf.reduce_sum(axis)": lambda d, o: _float(tf.reduce_sum(_number(d), 0), o) * o.u,
        "keras.ops.sum": lambda d, o: _float(keras.ops.sum(_number(d), axis=0), o) * o.u,
    },
    "mean": {"tf.reduce_mean": lambda d, o: tf.reduce_mean(_float(d, o), 0) * o.u},
    "integer arithmetic": {"i // 2 * 2 + 1": lambda d, o: _float(_number(d) // 2 * 2 + 1, o)},
    "negative": {"-i": lambda d, o: _float(-_number(d), o) * o.u},
    "reshape": {
        "tf.reshape": lambda d, o: tf.reshape(_float(tf.reshape(d, [3, 2]), o) * o.table[:, :2], [2, 3]),
        "keras.ops.reshape": lambda d, o: tf.reshape(
            _float(keras.ops.reshape(d, (3, 2)), o) * o.table[:, :2], [2, 3]
        ),
    },
    "transpose": {
        "tf.transpose": lambda d, o: tf.transpose(_float(tf.transpose(d), o) * o.table[:, :2]),
        "keras.ops.transpose": lambda d, o: tf.transpose(_float(keras.ops.transpose(d), o) * o.table[:, :2]),
    },
    "slice": {
        "b[:, 1:2]": lambda d, o: _float(d[:, 1:2], o) * o.u,
        "b[:, 1]": lambda d, o: _float(d[:, 1], o)[:, None] * o.u,
        "tf.slice": lambda d, o: _float(tf.slice(d, [0, 1], [2, 1]), o) * o.u,
    },
    "constant index": {
        "tf.gather": lambda d, o: _float(tf.gather(d, _SWAPPED), o) * o.u,
        "tf.gather_nd": lambda d, o: _float(tf.gather_nd(d, [[1], [0]]), o) * o.u,
        "tf.reverse": lambda d, o: _float(tf.reverse(d, [0]), o) * o.u,
        "tf.roll": lambda d, o: _float(tf.roll(d, 1, 0), o) * o.u,
    },
    "stack": {"tf.stack": lambda d, o: tf.reduce_sum(_float(tf.stack([d, d]), o) * tf.stack([o.u, o.v]), 0)},
    "concatenate": {
        "tf.concat": lambda d, o: _float(tf.concat([d, d], 1)[:, 2:5], o) * o.u,
        "keras.ops.concatenate": lambda d, o: _float(keras.ops.concatenate([d, d], axis=1)[:, 2:5], o) * o.u,
    },
    "expand": {
        "tf.broadcast_to": lambda d, o: tf.reduce_sum(_float(tf.broadcast_to(d, [4, 2, 3]), o) * o.u, 0),
        "tf.tile": lambda d, o: tf.reduce_sum(_float(tf.tile(d[None], [4, 1, 1]), o) * o.u, 0),
        "tf.repeat": lambda d, o: tf.reduce_sum(_float(tf.repeat(d[None], 4, 0), o) * o.u, 0),
    },
    "squeeze": {
        "tf.squeeze": lambda d, o: _float(tf.squeeze(d[None], 0), o) * o.u,
        "tf.expand_dims": lambda d, o: _float(tf.squeeze(tf.expand_dims(d, 1), 1), o) * o.u,
    },
    "split": {
        "tf.split": lambda d, o: _float(tf.split(d, 3, 1)[2], o) * o.u,
        "tf.unstack": lambda d, o: _float(tf.unstack(d, axis=1)[2], o)[:, None] * o.u,
    },
    "to a device": {"tf.identity": lambda d, o: _float(tf.identity(d), o) * o.u},
    "where": {
        "tf.where": lambda d, o: tf.where(d, o.u, o.v),
        "keras.ops.where": lambda d, o: keras.ops.where(d, o.u, o.v),
        "tnp.where": lambda d, o: tnp.where(d, o.u, o.v),
    },
    "where of numbers": {
        "tf.where": lambda d, o: tf.where(d, tf.constant(3.0, o.u.dtype), tf.constant(0.5, o.u.dtype)) * o.u
    },
    "where, broadcast": {"tf.where": lambda d, o: tf.where(d[:, :1], o.u, o.v)},
    "masked assignment": {
        "tf.where of a number": lambda d, o: tf.where(d, tf.constant(0.75, o.u.dtype), o.u)
    },
    "masked assignment to a constant": {
        "tf.where of numbers": lambda d, o: tf.where(
            d, tf.constant(0.75, o.u.dtype), tf.fill(tf.shape(o.u), tf.constant(2.0, o.u.dtype))
        )
    },
    "not": {
        "~b": lambda d, o: _float(~d, o) * o.u,
        "tf.logical_not": lambda d, o: _float(tf.logical_not(d), o) * o.u,
        "keras.ops.logical_not": lambda d, o: _float(keras.ops.logical_not(d), o) * o.u,
    },
    "and": {
        "b & m": lambda d, o: _float(d & o.mask, o) * o.u,
        "m & b": lambda d, o: _float(o.mask & d, o) * o.u,
        "tf.logical_and": lambda d, o: _float(tf.logical_and(d, o.mask), o) * o.u,
    },
    "or": {
        "b | m": lambda d, o: _float(d | o.mask, o) * o.u,
        "tf.logical_or": lambda d, o: _float(tf.logical_or(d, o.mask), o) * o.u,
    },
    "xor": {
        "b ^ m": lambda d, o: _float(d ^ o.mask, o) * o.u,
        "tf.math.logical_xor": lambda d, o: _float(tf.math.logical_xor(d, o.mask), o) * o.u,
    },
    "and of two with an origin": {"b & b[:, ::-1]": lambda d, o: _float(d & d[:, ::-1], o) * o.u},
    "all": {"tf.reduce_all": lambda d, o: _float(tf.reduce_all(d, 0), o) * o.u},
    "any": {"tf.reduce_any": lambda d, o: _float(tf.reduce_any(d, 1, keepdims=True), o) * o.u},
    "count_nonzero": {
        "tf.math.count_nonzero": lambda d, o: _float(tf.math.count_nonzero(d, 0), o) * o.u,
        "keras.ops.count_nonzero": lambda d, o: _float(keras.ops.count_nonzero(d, axis=0), o) * o.u,
    },
    "integer and back": {
        "tf.cast twice": lambda d, o: _float(tf.cast(tf.cast(d, tf.int32), tf.bool), o) * o.u
    },
    "number": {"tf.cast": lambda d, o: _column(_float(d, o)) * o.u},
    "arithmetic of an index": {"2 * i + 1": lambda d, o: _column(_float(2 * d + 1, o)) * o.u},
    "one_hot": {
        "tf.one_hot": lambda d, o: tf.one_hot(d, 3, dtype=o.u.dtype) * o.u,
        "keras.ops.one_hot": lambda d, o: keras.ops.one_hot(d, 3, dtype=o.u.dtype.name) * o.u,
    },
    "table": {
        "tf.gather": lambda d, o: tf.gather(o.table, d),
        "tf.nn.embedding_lookup": lambda d, o: tf.nn.embedding_lookup(o.table, d),
        "keras.ops.take": lambda d, o: keras.ops.take(o.table, d, axis=0),
        "tnp.take": lambda d, o: tnp.take(o.table, d, axis=0),
    },
    "columns": {
        "tf.gather(axis)": lambda d, o: tf.transpose(tf.gather(o.table, d, axis=1)),
        "keras.ops.take": lambda d, o: tf.transpose(keras.ops.take(o.table, d, axis=1)),
    },
    "take_along_axis": {
        "keras.ops.take_along_axis": lambda d, o: keras.ops.take_along_axis(o.u, _column(d), axis=1) * o.v,
        "tnp.take_along_axis": lambda d, o: tnp.take_along_axis(o.u, _column(d), axis=1) * o.v,
        "tf.gather(batch_dims)": lambda d, o: _column(tf.gather(o.u, d, axis=1, batch_dims=1)) * o.v,
    },
    "is a class": {"i == 1": lambda d, o: _column(_float(d == 1, o)) * o.u},
    "is each class": {
        "i[:, None] == classes": lambda d, o: _float(_column(d) == tf.constant(_CLASSES, d.dtype), o) * o.u
    },
    "reshaped": {
        "reshaped": lambda d, o: tf.gather(o.table, tf.reshape(tf.transpose(tf.reshape(d, [2, 1])), [-1]))
    },
}
