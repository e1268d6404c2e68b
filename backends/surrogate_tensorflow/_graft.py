"""A second way for a gradient: a value keeps its own, and its upstream gradient goes to a float twin too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf
from tensorflow.core.framework.attr_value_pb2 import AttrValue

from surrogate_tensorflow import _hooks
from surrogate_tensorflow._recording import record, unrecorded
from surrogate_tensorflow._spellings import CARRIER

if TYPE_CHECKING:
    from surrogate_tensorflow._backend import TensorFlowBackend

Tensor = Any

#: The registered gradient of a carrier of a value and its twin: both get the upstream gradient.
GRAFT = "surrogate.graft"


def _to_both(node: Any, g: Tensor, *_: Any) -> list[Tensor]:
    return [g, g]


tf.RegisterGradient(GRAFT)(_to_both)


def graft(backend: TensorFlowBackend, value: Tensor, twin: Tensor) -> Tensor:
    """``value``, whose upstream gradient goes to ``twin`` as well. Both have one shape and one dtype."""
    both = [value, tf.cast(twin, value.dtype)]
    if isinstance(value, _hooks.eager_tensor.native):
        result = unrecorded(tf.identity, value)
        record("Identity", [result], both, lambda g: [g, g])
        return result
    carried = unrecorded(tf.identity_n, both)
    node = carried[0].op
    node._set_attr("_gradient_op_type", AttrValue(s=GRAFT.encode()))
    record(CARRIER, carried[:1], both, lambda g: [g, g])
    return carried[0]


def is_graft(node: Any) -> bool:
    """Whether a node is a carrier of a value and its twin."""
    if node.type != CARRIER:
        return False
    try:
        return bool(node.get_attr("_gradient_op_type") == GRAFT.encode())
    except ValueError:
        return False
