"""What is done with booleans and integers that have an origin: the float expression of each op.

Every function here gives a float tensor whose gradient is what the op's result passes on to the twins of its
inputs. It is the op itself, run on the twins, wherever the op means the same on floats.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from surrogate_tensorflow import _origins
from surrogate_tensorflow._again import Call, again, data_of
from surrogate_tensorflow._classes import gathered, gathered_resource, is_class, one_hot
from surrogate_tensorflow._graft import steered
from surrogate_tensorflow._moves import MOVES

Tensor = Any
Expression = Callable[[Call], list[Tensor]]

#: Arithmetic of integers that is the same on floats.
ARITHMETIC = frozenset(
    [
        "Add",
        "AddV2",
        "Sub",
        "Mul",
        "Neg",
        "Sum",
        "Prod",
        "Mean",
        "Max",
        "Min",
        "Maximum",
        "Minimum",
        "Cumsum",
        "Cumprod",
        "AddN",
        "Square",
        "SquaredDifference",
        "Abs",
        "SegmentSum",
        "UnsortedSegmentSum",
        "MatMul",
        "BatchMatMulV2",
        "FloorMod",
    ]
)


def _twin(call: Call) -> Callable[[Tensor], Tensor]:
    return lambda x: _origins.twin(x, call.dtype)


def _twins(call: Call) -> list[Tensor]:
    return [_origins.twin(x, call.dtype) for x in call.inputs]


def _same(call: Call) -> list[Tensor]:
    return again(call, _twin(call))


def _cast(call: Call) -> list[Tensor]:
    return [_origins.twin(call.inputs[0], call.dtype)]


def _select(call: Call) -> list[Tensor]:
    """``where(b, u, v)``: the difference of the two to the twin of ``b``; floats u and v keep their own."""
    condition, u, v = call.inputs
    b = _origins.twin(condition, call.dtype)
    if call.type == "Select" and condition.shape.rank == 1 and u.shape.rank != 1:  # one for each row
        b = tf.reshape(b, tf.concat([tf.shape(b), tf.ones([tf.rank(u) - 1], tf.int32)], 0))
    if u.dtype.is_floating:
        factor = u - v
        shape = tf.broadcast_dynamic_shape(tf.shape(b), tf.shape(factor))
        return [steered(tf.broadcast_to(tf.cast(b, u.dtype), shape), tf.broadcast_to(factor, shape))]
    u, v = _origins.twin(u, call.dtype), _origins.twin(v, call.dtype)
    return [b * u + (1 - b) * v]


def _not(call: Call) -> list[Tensor]:
    return [1 - _twins(call)[0]]


def _and(call: Call) -> list[Tensor]:
    a, b = _twins(call)
    return [a * b]


def _or(call: Call) -> list[Tensor]:
    a, b = _twins(call)
    return [a + b - a * b]


def _differs(call: Call) -> list[Tensor]:
    if call.inputs[0].dtype != tf.bool:
        return [1 - is_class(call)]
    a, b = _twins(call)
    return [a + b - 2 * a * b]


def _equals(call: Call) -> list[Tensor]:
    if call.inputs[0].dtype != tf.bool:
        return [is_class(call)]
    return [1 - _differs(call)[0]]


def _all(call: Call) -> list[Tensor]:
    x, axis = _origins.twin(call.inputs[0], call.dtype), call.inputs[1]
    return [tf.raw_ops.Prod(input=x, axis=axis, keep_dims=call.attribute("keep_dims"))]


def _any(call: Call) -> list[Tensor]:
    x, axis = 1 - _origins.twin(call.inputs[0], call.dtype), call.inputs[1]
    return [1 - tf.raw_ops.Prod(input=x, axis=axis, keep_dims=call.attribute("keep_dims"))]


def _gather(call: Call) -> list[Tensor]:
    """A look-up by the index of an ``argmax``, or a choice among values that have an origin."""
    return _same(call) if _origins.classes(call.inputs[1]) is None else gathered(call)


def _floor_divide(call: Call) -> list[Tensor]:
    a, b = _twins(call)
    return [a / b]


EXPRESSIONS: dict[str, Expression] = {
    **dict.fromkeys(MOVES | ARITHMETIC, _same),
    "Cast": _cast,
    "Select": _select,
    "SelectV2": _select,
    "LogicalNot": _not,
    "LogicalAnd": _and,
    "LogicalOr": _or,
    "Equal": _equals,
    "NotEqual": _differs,
    "All": _all,
    "Any": _any,
    "FloorDiv": _floor_divide,
    "OneHot": one_hot,
    "GatherV2": _gather,
    "ResourceGather": gathered_resource,
}


def goes_on(call: Call) -> bool:
    """Whether a gradient goes on through this op, one of whose inputs has an origin."""
    if call.type in ("OneHot", "ResourceGather"):
        index = call.inputs[0 if call.type == "OneHot" else 1]
        return _origins.classes(index) is not None
    if call.type == "GatherV2":
        indices = _origins.find(call.inputs[1])
        return indices is None or indices[1].of_classes or _origins.find(call.inputs[0]) is not None
    if call.type in ("Equal", "NotEqual"):
        if call.inputs[0].dtype == tf.bool:
            return True
        return any(found is not None and found[1].of_classes for found in map(_origins.find, call.inputs))
    if call.type == "Cast" and call.output.dtype == tf.bool:
        found = _origins.find(call.inputs[0])
        return found is not None and found[1].boolean
    if EXPRESSIONS.get(call.type) is _same:
        return any(_origins.find(x) is not None for x in data_of(call))
    return call.type in EXPRESSIONS
