"""Formulas for TensorFlow's own ops that come with the backend. Their sources: docs/natives.md."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from surrogate import FormulaError, NativeCall, Positive


def guided(call: NativeCall, g: Any) -> Any:
    """The native derivative, of what is positive in the upstream gradient."""
    return call.native(tf.where(g > 0, g, tf.zeros_like(g)))


def deconvnet(call: NativeCall, g: Any) -> Any:
    """What is positive in the upstream gradient, whatever the operand was."""
    return tf.where(g > 0, g, tf.zeros_like(g))


def spread(call: NativeCall, g: Any) -> Any:
    """Every element of a pooling window gets an equal share, padding none: the derivative of the mean."""
    x, names = call.inputs[0], ("ksize", "strides", "padding", "data_format")
    given = {name: call.attributes[name] for name in names}
    if given["padding"] != "EXPLICIT":
        return tf.raw_ops.AvgPoolGrad(orig_input_shape=tf.shape(x), grad=g, **given)
    given["padding"] = "VALID"
    pairs = tf.reshape(call.attributes["explicit_paddings"], (-1, 2))
    ones = tf.pad(tf.ones_like(x), pairs)
    inside = tf.raw_ops.AvgPool(value=ones, **given)  # which part of a window is no padding
    back = tf.raw_ops.AvgPoolGrad(orig_input_shape=tf.shape(ones), grad=g / inside, **given)
    return tf.slice(back, pairs[:, 0], tf.shape(x))


def soft(call: NativeCall, g: Any, *, temperature: Positive = 1.0) -> Any:
    """Every element of a pooling window gets its softmax's share: the derivative of a smooth maximum."""
    x, given = call.inputs[0], call.attributes
    window, step = list(given["ksize"]), list(given["strides"])
    reach = (tf.shape(g) - 1) * step + window  # as far as the last window reaches
    before, after = _padding(given, tf.shape(x), reach)
    padded = tf.pad(x, tf.stack([before, after], 1), constant_values=x.dtype.as_numpy_dtype(-float("inf")))
    reach = tf.shape(padded)
    spans = [
        {"begin": at, "end": at + (tf.shape(g) - 1) * step + 1, "strides": step}
        for at in itertools.product(*map(range, window))
    ]
    windows = tf.stack([tf.strided_slice(padded, **span) for span in spans])
    shares = tf.unstack(tf.nn.softmax(windows / temperature, 0) * g, len(spans))
    back = [
        tf.raw_ops.StridedSliceGrad(shape=reach, dy=dy, **span)
        for dy, span in zip(shares, spans, strict=True)
    ]
    return tf.slice(tf.add_n(back), before, tf.shape(x))


def _padding(given: Any, shape: Any, reach: Any) -> tuple[Any, Any]:
    """What is added before and after each axis."""
    if given["padding"] == "EXPLICIT":
        pairs = tf.reshape(given["explicit_paddings"], (-1, 2))
        return pairs[:, 0], pairs[:, 1]
    if given["padding"] == "VALID":
        return tf.zeros_like(shape), tf.zeros_like(shape)
    more = tf.maximum(reach - shape, 0)
    return more // 2, more - more // 2


def softsort(call: NativeCall, g: Any, *, tau: Positive = 1.0) -> Any:
    """The derivative of softmax(-|s - x| / tau) @ x, with s the sorted values."""
    x, s = call.inputs[0], call.outputs[0]
    far = s[..., :, None] - x[..., None, :]
    p = tf.nn.softmax(-tf.abs(far) / tau)
    y = tf.reduce_sum(p * x[..., None, :], -1, keepdims=True)
    by_far = tf.sign(far) * p * g[..., None] * (y - x[..., None, :]) / tau
    by_x = tf.reduce_sum(p * g[..., None], -2) - tf.reduce_sum(by_far, -2)
    return by_x + call.native(tf.reduce_sum(by_far, -1))[0]


def finite(call: NativeCall, g: Any) -> Any:
    """The root's derivative, and 0 where the root is 0."""
    root = call.outputs[0]
    one, zero = tf.ones_like(root), tf.zeros_like(root)
    return tf.where(root > 0, g / (2 * tf.where(root > 0, root, one)), zero)


def finite_norm(call: NativeCall, g: Any) -> Any:
    """The norm's derivative, and 0 where the norm is 0."""
    given, x = call.attributes, call.inputs[0]
    if given.get("ord", "euclidean") not in ("euclidean", 2):
        raise FormulaError(f"finite is for the euclidean norm, not for ord={given['ord']!r}.")
    norm = tf.norm(x, "euclidean", given.get("axis"), keepdims=True)
    slope = tf.reshape(g, tf.shape(norm)) / tf.where(norm > 0, norm, tf.ones_like(norm))
    return tf.where(norm > 0, x * slope, tf.zeros_like(x))


def interpolated(call: NativeCall, g: Any) -> Any:
    """``tf.gather``: an index gets the slope from the entry that it names to the next along the axis."""
    table, indices = call.inputs[:2]
    native = call.native(g)[0] if call.wanted[0] else None
    if not call.wanted[1]:
        return native, None
    rank, batch = _rank(table), call.attributes["batch_dims"]
    axis = int(tf.get_static_value(call.inputs[2])) % rank
    beyond = tf.minimum(indices + 1, tf.cast(tf.shape(table)[axis], indices.dtype) - 1)
    slope = tf.gather(table, beyond, axis=axis, batch_dims=batch) - call.outputs[0]
    after = axis + _rank(indices) - batch  # the axes of the result that are the table's, behind the indices'
    rest = [*range(batch, axis), *range(after, after + rank - axis - 1)]
    return native, tf.reduce_sum(g * slope, rest)


def interpolated_nd(call: NativeCall, g: Any) -> Any:
    """``tf.gather_nd``: an index gets the slope from the entry that it names to the next along its axis."""
    table, indices = call.inputs[:2]
    native = call.native(g)[0] if call.wanted[0] else None
    if not call.wanted[1]:
        return native, None
    count, where = indices.shape[-1], _rank(indices) - 1
    last = tf.cast(tf.shape(table), indices.dtype)[:count] - 1
    rest = list(range(where, where + _rank(table) - count))

    def by(k: int) -> Any:
        beyond = tf.minimum(indices + tf.one_hot(k, count, dtype=indices.dtype), last)
        return tf.reduce_sum(g * (tf.gather_nd(table, beyond) - call.outputs[0]), rest)

    return native, tf.stack([by(k) for k in range(count)], -1)


def interpolated_item(call: NativeCall, g: Any) -> Any:
    """``table[i]``: an index gets the slope from what it names to the next along its axis."""
    table, begin, end, strides = call.inputs
    native = call.native(g)[0] if call.wanted[0] else None
    if not call.wanted[1]:
        return native
    given = dict(call.attributes)
    single, count, rank = given["shrink_axis_mask"], begin.shape[0], _rank(table)
    if not single or given["new_axis_mask"]:
        raise FormulaError(
            "interpolated is for table[i] of an index i, not for a range or beside tf.newaxis."
        )
    masks = {name: given[name] for name in given if name.endswith("_mask")}
    middle = given["ellipsis_mask"].bit_length() - 1

    def by(k: int) -> Any:
        if not single >> k & 1:
            return tf.zeros((), g.dtype)
        n = tf.cast(tf.shape(table)[k if middle < 0 or k < middle else rank - count + k], begin.dtype)
        step = tf.where(begin[k] % n + 1 < n, 1, 0)
        moved = tf.one_hot(k, count, dtype=begin.dtype) * tf.cast(step, begin.dtype)
        at = {"begin": begin + moved, "end": end + moved, "strides": strides}
        slope = tf.raw_ops.StridedSlice(input=table, **at, **masks) - call.outputs[0]
        return tf.reduce_sum(g * slope)

    return native, tf.stack([by(k) for k in range(count)])


def _rank(x: Any) -> int:
    if x.shape.rank is None:
        raise FormulaError(
            "interpolated wants a known number of axes: give the tensor a shape (tf.ensure_shape)."
        )
    return int(x.shape.rank)


#: Functions of TensorFlow's that are written in Python -> formulas by name.
FUNCTIONS = {tf.norm: {"finite": finite_norm}}
#: op type -> formulas by name.
PACK: dict[str, dict[str, Callable[..., Any]]] = {
    "MaxPool": {"spread": spread, "soft": soft},
    "TopKV2": {"softsort": softsort},
    "Sqrt": {"finite": finite},
    "GatherV2": {"interpolated": interpolated},
    "GatherNd": {"interpolated": interpolated_nd},
    "StridedSlice": {"interpolated": interpolated_item},
}
#: Formulas of every op type.
EVERY = {"guided": guided, "deconvnet": deconvnet}
