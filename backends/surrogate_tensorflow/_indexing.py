"""Functions of Keras and ``tf.experimental.numpy`` that index, as units: they correct the index on the way.

``keras.ops.take`` adds the length to negative indices, by a comparison and a choice among integers, and
``keras.ops.argmax`` changes -0.0: of the index of an ``argmax`` they would lose the origin.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from surrogate_tensorflow import _origins
from surrogate_tensorflow._classes import looked_up
from surrogate_tensorflow._graft import graft
from surrogate_tensorflow._operands import Operands
from surrogate_tensorflow._recording import unrecorded
from surrogate_tensorflow._swap import find

if TYPE_CHECKING:
    from surrogate_tensorflow._backend import TensorFlowBackend

Tensor = Any
Handler = Callable[..., Any]

_KERAS = "keras.src.backend.tensorflow.numpy"
_TNP = "tensorflow.python.ops.numpy_ops.np_array_ops"

#: module, function, and its arguments that are the table, the indices and the axis.
_TAKES = (
    (_KERAS, "take", ("x", "indices", "axis")),
    (_TNP, "take", ("a", "indices", "axis")),
)
_TAKES_ALONG = (
    (_KERAS, "take_along_axis", ("x", "indices", "axis")),
    (_TNP, "take_along_axis", ("arr", "indices", "axis")),
)


class Indexing:
    """The handlers of these functions."""

    def __init__(self, backend: TensorFlowBackend) -> None:
        self._backend = backend

    def handlers(self) -> list[tuple[str, str, Handler]]:
        """Module, function, handler."""
        takes = [(m, f, self._taking(find(m, f), names, _taken)) for m, f, names in _TAKES]
        along = [(m, f, self._taking(find(m, f), names, _taken_along)) for m, f, names in _TAKES_ALONG]
        return [
            *takes,
            *along,
            (_KERAS, "argmax", self._finding("argmax", find(_KERAS, "argmax"))),
            (_KERAS, "argmin", self._finding("argmin", find(_KERAS, "argmin"))),
        ]

    def _taking(
        self, function: Handler, names: tuple[str, str, str], expression: Callable[..., Tensor]
    ) -> Handler:
        signature = inspect.signature(function)

        def handler(native: Handler, *args: Any, **named: Any) -> Any:
            suspension = self._backend.scope.suspension
            if suspension.on or not _origins.there_are_any():
                return native(*args, **named)
            given = signature.bind(*args, **named)
            given.apply_defaults()
            table, indices, axis = (given.arguments[name] for name in names)
            vectors = suspension.run(_origins.classes, indices) if isinstance(indices, tf.Tensor) else None
            if vectors is None:
                return native(*args, **named)
            value = suspension.run(native, *args, **named)
            if not value.dtype.is_floating:
                return native(*args, **named)
            return suspension.run(
                lambda: graft(self._backend, value, expression(vectors, tf.convert_to_tensor(table), axis))
            )

        return handler

    def _finding(self, op: str, function: Handler) -> Handler:
        signature = inspect.signature(function)

        def handler(native: Handler, *args: Any, **named: Any) -> Any:
            suspension = self._backend.scope.suspension
            here = self._backend.scope.here()
            if op not in here.state.rules:
                return native(*args, **named)
            given = signature.bind(*args, **named)
            given.apply_defaults()
            x, axis = tf.convert_to_tensor(given.arguments["x"]), given.arguments["axis"]
            value = suspension.run(unrecorded, lambda: native(*args, **named))
            if not x.dtype.is_floating or x.shape.rank in (None, 0):
                return value
            if axis is None:
                x, axis = suspension.run(tf.reshape, x, [-1]), -1
            found = Operands((x,), {"axis": int(axis) % x.shape.rank - x.shape.rank})
            self._backend.discrete.leave(here, op, found, value)
            return value

        return handler


def _taken(vectors: Tensor, table: Tensor, axis: int | None) -> Tensor:
    if axis is None:
        table, axis = tf.reshape(table, [-1]), 0
    table = tf.stop_gradient(table)
    return looked_up(tf.cast(vectors, table.dtype), table, axis % table.shape.rank, 0)


def _taken_along(vectors: Tensor, table: Tensor, axis: int | None) -> Tensor:
    """For each class its product with the table, along the axis of both."""
    if axis is None:
        table, axis = tf.reshape(table, [-1]), 0
    rank = table.shape.rank
    axis %= rank
    table, vectors = tf.stop_gradient(table), tf.cast(vectors, table.dtype)
    to_the_end = [*(a for a in range(rank) if a != axis), axis]
    and_back = [to_the_end.index(a) for a in range(rank)]
    rows = tf.transpose(table, to_the_end)[..., None, :]
    chosen = tf.transpose(vectors, [*to_the_end, rank])
    count = tf.minimum(tf.shape(rows)[-1], tf.shape(chosen)[-1])
    return tf.transpose(tf.reduce_sum(rows[..., :count] * chosen[..., :count], -1), and_back)
