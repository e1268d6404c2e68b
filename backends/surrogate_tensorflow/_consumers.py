"""What is done with booleans and integers that have an origin: the float expression of each op.

Every function here gives a float tensor whose gradient is what the op's result passes on to the twins of its
inputs. It is the op itself, run on the twins, wherever the op means the same on floats.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from surrogate_tensorflow import _origins
from surrogate_tensorflow._again import Call, again
from surrogate_tensorflow._graft import steered

Tensor = Any
Expression = Callable[[Call], list[Tensor]]

#: Ops that move, copy or choose elements, whatever these are.
MOVES = frozenset(
    [
        "Reshape",
        "Transpose",
        "Pack",
        "Unpack",
        "ConcatV2",
        "StridedSlice",
        "Slice",
        "Tile",
        "Squeeze",
        "ExpandDims",
        "BroadcastTo",
        "GatherV2",
        "GatherNd",
        "Identity",
        "Split",
        "SplitV",
        "ReverseV2",
        "Pad",
        "PadV2",
        "MirrorPad",
        "Roll",
        "Snapshot",
        "MatrixDiagV3",
        "MatrixDiagPartV3",
        "TensorScatterUpdate",
        "TensorStridedSliceUpdate",
        "BatchToSpaceND",
        "SpaceToBatchND",
        "EnsureShape",
        "ResourceGather",
        "DiagPart",
        "MatrixBandPart",
    ]
)
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
#: Those of one tensor's elements.
MOVES_ONE = MOVES - {"Pack", "ConcatV2", "TensorScatterUpdate", "TensorStridedSliceUpdate"} | {"Cast"}
_RESHAPED = frozenset({"Reshape", "Squeeze", "ExpandDims"})


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
        return [1 - _is_class(call)]
    a, b = _twins(call)
    return [a + b - 2 * a * b]


def _equals(call: Call) -> list[Tensor]:
    if call.inputs[0].dtype != tf.bool:
        return [_is_class(call)]
    return [1 - _differs(call)[0]]


def _all(call: Call) -> list[Tensor]:
    x, axis = _origins.twin(call.inputs[0], call.dtype), call.inputs[1]
    return [tf.raw_ops.Prod(input=x, axis=axis, keep_dims=call.attribute("keep_dims"))]


def _any(call: Call) -> list[Tensor]:
    x, axis = 1 - _origins.twin(call.inputs[0], call.dtype), call.inputs[1]
    return [1 - tf.raw_ops.Prod(input=x, axis=axis, keep_dims=call.attribute("keep_dims"))]


def _floor_divide(call: Call) -> list[Tensor]:
    a, b = _twins(call)
    return [a / b]


# -- the index of an argmax ---------------------------------------------------------------------------


def _is_class(call: Call) -> Tensor:
    """``i == k``: the element of the one-hot vector at ``k``."""
    i, k = call.inputs
    vectors, other = _origins.classes(i), k
    if vectors is None:
        vectors, other = _origins.classes(k), i
    assert vectors is not None
    known = tf.range(tf.shape(vectors)[-1])
    chosen = tf.cast(tf.equal(tf.cast(other, known.dtype)[..., None], known), vectors.dtype)
    return tf.reduce_sum(vectors * chosen, -1)


def _one_hot(call: Call) -> list[Tensor]:
    """Its own one-hot vector, with as many classes as are asked for."""
    indices, depth, on, off = call.inputs
    vectors = _origins.classes(indices)
    assert vectors is not None
    depth, known = tf.cast(depth, tf.int32), tf.shape(vectors)[-1]
    more = tf.zeros([tf.rank(vectors), 1], tf.int32)
    padding = tf.concat([more, tf.concat([more[1:], [[tf.maximum(depth - known, 0)]]], 0)], 1)
    vectors = tf.pad(vectors, padding)[..., :depth]
    axis = call.attribute("axis")
    if axis != -1:
        rank = vectors.shape.rank
        order = [*range(rank - 1)]
        order.insert(axis, rank - 1)
        vectors = tf.transpose(vectors, order)
    if not on.dtype.is_floating:
        on, off = tf.cast(on, call.dtype), tf.cast(off, call.dtype)
    vectors = tf.cast(vectors, on.dtype)
    return [vectors * tf.stop_gradient(on - off) + tf.stop_gradient(off)]


def _gather(call: Call) -> list[Tensor]:
    """``table[i]``: the product of the one-hot vector with the table, or a choice among origins."""
    vectors = _origins.classes(call.inputs[1])
    if vectors is None:
        return _same(call)
    table = tf.stop_gradient(call.inputs[0])
    table = table if table.dtype.is_floating else tf.cast(table, call.dtype)
    batch = call.attribute("batch_dims")
    axis = int(tf.get_static_value(call.inputs[2]))
    return [looked_up(tf.cast(vectors, table.dtype), table, axis % table.shape.rank, batch)]


def _gather_resource(call: Call) -> list[Tensor]:
    table = tf.raw_ops.ReadVariableOp(resource=call.inputs[0], dtype=call.output.dtype)
    vectors = _origins.classes(call.inputs[1])
    assert vectors is not None
    return [looked_up(tf.cast(vectors, table.dtype), tf.stop_gradient(table), 0, 0)]


def looked_up(vectors: Tensor, table: Tensor, axis: int, batch: int) -> Tensor:
    """``table`` along ``axis`` at the classes that ``vectors`` name, as ``tf.gather`` orders the axes."""
    count = tf.minimum(
        tf.shape(vectors)[-1], tf.shape(table)[axis]
    )  # a class may have no row, a row no class
    if vectors.shape[-1] is None or vectors.shape[-1] != table.shape[axis]:
        vectors, table = vectors[..., :count], tf.gather(table, tf.range(count), axis=axis)
    letters = iter("abcdefghijlmnopqrstuvwxyz")
    shared = [next(letters) for _ in range(batch)]
    before = [next(letters) for _ in range(axis - batch)]
    after = [next(letters) for _ in range(table.shape.rank - axis - 1)]
    where = [next(letters) for _ in range(vectors.shape.rank - 1 - batch)]
    of_table, of_vectors = [*shared, *before, "k", *after], [*shared, *where, "k"]
    result = [*shared, *before, *where, *after]
    return tf.einsum(f"{''.join(of_vectors)},{''.join(of_table)}->{''.join(result)}", vectors, table)


def moved_classes(call: Call) -> Tensor | None:
    """The one-hot vectors of an index that an op has only moved, or None."""
    if call.type not in MOVES_ONE or call.output.dtype == tf.bool:
        return None
    vectors = _origins.classes(call.inputs[0])
    if vectors is None or call.type == "Cast":
        return vectors
    count = tf.shape(vectors)[-1:]
    if call.type in _RESHAPED:
        return tf.reshape(vectors, tf.concat([tf.shape(call.output), count], 0))
    size = tf.size(call.inputs[0])
    where = tf.reshape(tf.range(1, size + 1), tf.shape(call.inputs[0]))  # 0 is for what is filled in
    (where,) = again(call, lambda x: where if x is call.inputs[0] else tf.zeros_like(x, tf.int32))
    rows = tf.reshape(vectors, tf.concat([[size], count], 0))
    return tf.gather(tf.pad(rows, [[1, 0], [0, 0]]), where)


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
    "OneHot": _one_hot,
    "GatherV2": _gather,
    "ResourceGather": _gather_resource,
}


def goes_on(call: Call) -> bool:
    """Whether a gradient goes on through this op, one of whose inputs has an origin."""
    if call.type in ("OneHot", "ResourceGather"):
        index = call.inputs[0 if call.type == "OneHot" else 1]
        return _origins.classes(index) is not None
    if call.type == "GatherV2":
        indices = _origins.find(call.inputs[1])
        return indices is None or indices[1].of_classes
    if call.type in ("Equal", "NotEqual"):
        if call.inputs[0].dtype == tf.bool:
            return True
        return any(found is not None and found[1].of_classes for found in map(_origins.find, call.inputs))
    if call.type == "Cast" and call.output.dtype == tf.bool:
        found = _origins.find(call.inputs[0])
        return found is not None and found[1].boolean
    return call.type in EXPRESSIONS
