"""Graphs: a node that carries a value and, beside it, the inputs that a rule leads to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from surrogate_tensorflow import _graph
from surrogate_tensorflow._learned import apart
from surrogate_tensorflow._recording import unrecorded
from surrogate_tensorflow._scope import Situation
from surrogate_tensorflow._spellings import CARRIER

if TYPE_CHECKING:
    from surrogate_tensorflow._backend import TensorFlowBackend

Tensor = Any


def carry(
    backend: TensorFlowBackend,
    value: Tensor,
    inputs: Sequence[Tensor],
    op: str,
    rule: Any,
    here: Situation,
    needs: tuple[bool, ...],
) -> Tensor:
    """Put a value through a node that carries the rule of ``op`` and has all of its inputs at hand."""
    inputs = [_with_rank(x, value.shape.rank) for x in inputs]
    carried = backend.scope.suspended(unrecorded, tf.identity_n, [value, *inputs])
    node = carried[0].op
    _graph.mark(backend, node, op, apart(rule), here.state, needs)
    _graph.record_marked(backend, CARRIER, list(node.inputs), carried)
    return carried[0]


def _with_rank(x: Tensor, rank: int | None) -> Tensor:
    """With leading axes of length 1, so that a vectorized axis may come in front of all inputs."""
    if rank is None or x.shape.rank is None or x.shape.rank >= rank:
        return x
    missing = rank - x.shape.rank
    return tf.reshape(
        x,
        tf.concat([[1] * missing, tf.shape(x)], 0)
        if None in x.shape.as_list()
        else [1] * missing + x.shape.as_list(),
    )
