"""A second way for a gradient: a value keeps its own, and its upstream gradient goes to a float twin too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


#: The registered gradient of a carrier of a twin and a factor: the twin gets the product.
STEER = "surrogate.steer"


def _to_twin(node: Any, g: Tensor, *_: Any) -> list[Tensor | None]:
    return [g * node.inputs[1], None]


tf.RegisterGradient(STEER)(_to_twin)


def steered(twin: Tensor, factor: Tensor) -> Tensor:
    """Something whose upstream gradient goes to ``twin`` times ``factor``, and to the factor not at all.

    As of ``twin * tf.stop_gradient(factor)``, but for second derivatives: the gradient is a function of both.
    """
    if isinstance(factor, _hooks.eager_tensor.native):
        result = unrecorded(tf.identity, twin)
        record("Identity", [result], [twin], lambda g: [g * factor])
        return result
    carried = unrecorded(tf.identity_n, [twin, factor])
    node = carried[0].op
    node._set_attr("_gradient_op_type", AttrValue(s=STEER.encode()))
    record(CARRIER, carried[:1], [twin, factor], lambda g: [g * factor, None])
    return carried[0]


#: The registered gradient of a carrier whose twins get what a function gives.
LED = "surrogate.led"


def _to_twins(node: Any, g: Tensor, *_: Any) -> list[Tensor | None]:
    return [None, *node._surrogate_pull(g)]


tf.RegisterGradient(LED)(_to_twins)


def led(
    value: Tensor,
    twins: Sequence[Tensor],
    pull: Callable[[Tensor], list[Tensor | None]],
    push: Callable[..., list[Tensor]],
) -> Tensor:
    """``value``, whose upstream gradient goes to twins alone, as ``pull`` says; ``push`` is for tangents."""
    if isinstance(value, _hooks.eager_tensor.native):
        result = unrecorded(tf.identity, value)
        record("Identity", [result], twins, pull, push)
        return result
    carried = unrecorded(tf.identity_n, [value, *twins])
    node = carried[0].op
    node._set_attr("_gradient_op_type", AttrValue(s=LED.encode()))
    node._surrogate_pull = pull
    record(CARRIER, carried[:1], twins, pull, push)
    return carried[0]


def is_graft(node: Any) -> bool:
    """Whether a node is a carrier of a value and its twin, or of a twin and a factor."""
    if node.type != CARRIER:
        return False
    try:
        return node.get_attr("_gradient_op_type") in (GRAFT.encode(), STEER.encode(), LED.encode())
    except ValueError:
        return False
