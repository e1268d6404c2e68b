"""What is done with the index of an ``argmax``: float expressions, through its one-hot vector."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from surrogate_tensorflow import _origins
from surrogate_tensorflow._again import Call, again
from surrogate_tensorflow._moves import MOVES_ONE, RESHAPED

Tensor = Any


def is_class(call: Call) -> Tensor:
    """``i == k``: the element of the one-hot vector at ``k``."""
    i, k = call.inputs
    vectors, other = _origins.classes(i), k
    if vectors is None:
        vectors, other = _origins.classes(k), i
    assert vectors is not None
    known = tf.range(tf.shape(vectors)[-1])
    chosen = tf.cast(tf.equal(tf.cast(other, known.dtype)[..., None], known), vectors.dtype)
    return tf.reduce_sum(vectors * chosen, -1)


def one_hot(call: Call) -> list[Tensor]:
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


def gathered(call: Call) -> list[Tensor]:
    """``table[i]``: the product of the one-hot vector with the table."""
    vectors = _origins.classes(call.inputs[1])
    assert vectors is not None
    table = tf.stop_gradient(call.inputs[0])
    table = table if table.dtype.is_floating else tf.cast(table, call.dtype)
    batch = call.attribute("batch_dims")
    axis = int(tf.get_static_value(call.inputs[2]))
    return [looked_up(tf.cast(vectors, table.dtype), table, axis % table.shape.rank, batch)]


def gathered_resource(call: Call) -> list[Tensor]:
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
    if call.type in RESHAPED:
        return tf.reshape(vectors, tf.concat([tf.shape(call.output), count], 0))
    size = tf.size(call.inputs[0])
    where = tf.reshape(tf.range(1, size + 1), tf.shape(call.inputs[0]))  # 0 is for what is filled in
    (where,) = again(call, lambda x: where if x is call.inputs[0] else tf.zeros_like(x, tf.int32))
    rows = tf.reshape(vectors, tf.concat([[size], count], 0))
    return tf.gather(tf.pad(rows, [[1, 0], [0, 0]]), where)
