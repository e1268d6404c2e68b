"""The operands of ops that give booleans and integers, in the order of the core's op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from surrogate_tensorflow import _origins
from surrogate_tensorflow._spellings import DISCRETE_TYPES

Tensor = Any


class Operands(NamedTuple):
    """What a rule is evaluated on.

    Attributes:
        inputs: float tensors, in the order of the op's inputs.
        attributes: the op's static arguments.
    """

    inputs: tuple[Tensor, ...]
    attributes: dict[str, Any]


def operands_of(
    op_type: str, inputs: Sequence[Tensor], attribute: Callable[[str], Any], output: Tensor
) -> Operands | None:
    """The operands of an op; None if they carry no gradient."""
    op = DISCRETE_TYPES[op_type]
    if op == "astype":
        if not inputs[0].dtype.is_floating:
            return None
        return Operands((inputs[0],), {"to": "bool"} if output.dtype == tf.bool else {})
    if op in ("argmax", "argmin"):
        axis = tf.get_static_value(inputs[1])
        rank = inputs[0].shape.rank
        if axis is None or rank is None or not inputs[0].dtype.is_floating:
            return None
        # counted from the last axis: a vectorized axis comes in front
        return Operands((inputs[0],), {"axis": int(axis) % rank - rank})
    if op == "searchsorted":
        if not inputs[-1].dtype.is_floating:
            return None
        if op_type == "Bucketize":
            boundaries = tf.constant(list(attribute("boundaries")), inputs[0].dtype)
            return Operands((inputs[0], boundaries), {})
        return Operands((inputs[1], inputs[0]), {})
    return _compared(inputs)


def _compared(inputs: Sequence[Tensor]) -> Operands | None:
    """Two floats, or integers of which one has an origin."""
    if inputs[0].dtype.is_floating:
        return Operands(tuple(inputs), {})
    if inputs[0].dtype == tf.bool or not inputs[0].dtype.is_integer:
        return None
    origins = [found[1] for x in inputs if (found := _origins.find(x)) is not None]
    if not origins or any(origin.of_classes for origin in origins):
        return None
    return Operands(tuple(_origins.twin(x, origins[0].dtype) for x in inputs), {})
