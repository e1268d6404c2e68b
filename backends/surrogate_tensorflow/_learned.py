"""Parameters of a gradient that are learned: inputs of the captured op beside its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

import surrogate
from surrogate_tensorflow import _hooks
from surrogate_tensorflow._recording import wanted

Tensor = Any


def wants_gradient(value: Any) -> bool:
    """Whether a tensor or variable, given as a parameter, is learned; a graph's tensor may be."""
    if hasattr(value, "trainable"):
        return bool(value.trainable)
    if not tf.is_tensor(value) or not value.dtype.is_floating:
        return False
    return not isinstance(value, _hooks.eager_tensor.native) or wanted([value])[0]


def inputs_of(rule: surrogate.Rule, inputs: Sequence[Tensor]) -> list[Tensor]:
    """The inputs of a rule: those of the op, then the learned parameters in their dtype.

    Raises:
        ParameterError: a parameter is another framework's.
    """
    return [*inputs, *(_read(rule, one.tensor, inputs[0].dtype) for one in rule.learned)]


def _read(rule: surrogate.Rule, tensor: Any, dtype: Any) -> Tensor:
    if not (tf.is_tensor(tensor) or hasattr(tensor, "trainable")) or hasattr(tensor, "requires_grad"):
        raise surrogate.ParameterError(
            f"{rule.id}: a learned parameter is a {type(tensor).__name__}, where TensorFlow needs a tensor "
            "or a variable."
        )
    return tf.cast(tf.convert_to_tensor(tensor), dtype)


def apart(rule: surrogate.Rule) -> surrogate.Rule:
    """The rule as a graph may keep it: without the tensors."""
    return rule.apart if isinstance(rule, surrogate.LearnedRule) else rule
