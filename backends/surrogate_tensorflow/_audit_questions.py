"""What one op does to a gradient, asked of its own gradient function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from surrogate_tensorflow import _hooks
from surrogate_tensorflow._audit_names import ALIVE, POINTWISE
from surrogate_tensorflow._audit_recorder import Given, is_float

Tensor = Any

#: Elements enough to meet every side of a clip.
_ENOUGH = 96

#: Larger inputs are not drawn.
_LARGEST = 1 << 22

#: Both signs are in every draw; the middle decades come first, where most ops are alive.
_SCALES = np.logspace(-3, 3, 25)[np.argsort(np.abs(np.arange(25) - 12), kind="stable")]


class Answer(NamedTuple):
    """Positions of inputs with a derivative that is zero everywhere; or why there is none at all.

    Attributes:
        zero: the positions.
        why: the op is not differentiable, as TensorFlow declares it.
        raises: what the backward pass raises.
    """

    zero: frozenset[int] = frozenset()
    why: str = ""
    raises: str = ""


_answers: dict[Any, Answer] = {}


def ask(name: str, given: Given) -> Answer:
    """What an op does to a gradient, whatever its inputs are. Remembered by op type, attributes and types."""
    if name in ALIVE:
        return Answer()
    try:
        if _hooks.gradient_registry.native.lookup(given.op_type) is None:
            return Answer(why="not differentiable in TensorFlow")
    except LookupError:
        return Answer(raises=f"no gradient is registered for {given.op_type}")
    key = given.op_type, str(given.attributes), tuple(_kind(name, x) for x in given.inputs)
    if key not in _answers:
        _answers[key] = Answer(_zero(name, given))
    return _answers[key]


def _kind(name: str, x: Tensor) -> Any:
    return (x.dtype, x.shape.rank == 0) if name in POINTWISE else (x.dtype, tuple(x.shape))


def pull(given: Given, cotangents: Sequence[Tensor]) -> list[Tensor | None]:
    """Cotangents of an op's inputs, by TensorFlow's own gradient of it."""
    back = _hooks.eager_gradient_function.native(
        given.op_type, given.attributes, len(given.inputs), given.inputs, given.outputs, cotangents, [], ""
    )
    return list(back) if isinstance(back, (list, tuple)) else [back]


def _zero(name: str, given: Given) -> frozenset[int]:
    floats = [k for k, x in enumerate(given.inputs) if is_float(x)]
    if not floats or sum(int(np.prod(given.inputs[k].shape)) for k in floats) > _LARGEST:
        return frozenset()
    alive: set[int] = set()
    draws = np.random.RandomState(7)
    for scale in _SCALES:
        inputs = [_draw(draws, name, x, scale) if k in floats else x for k, x in enumerate(given.inputs)]
        try:
            alive |= _arrived(given, inputs, draws)
        except (tf.errors.OpError, ValueError, TypeError):  # not for these numbers: nothing is claimed
            return frozenset()
        if alive.issuperset(floats):
            break
    return frozenset(floats) - alive


def _draw(draws: Any, name: str, x: Tensor, scale: float) -> Tensor:
    shape = (_ENOUGH,) if name in POINTWISE and x.shape.rank else tuple(x.shape)
    return tf.cast(tf.constant(draws.standard_normal(shape) * scale), x.dtype)


def _arrived(given: Given, inputs: Sequence[Tensor], draws: Any) -> set[int]:
    """The inputs that get a cotangent which is not zero, or NaN."""
    outputs = _hooks.run_op(given.op_type, len(given.outputs), list(inputs), given.attributes)
    cotangents = [
        tf.cast(tf.constant(draws.standard_normal(tuple(y.shape))), y.dtype)
        if is_float(y)
        else tf.zeros_like(y)
        for y in outputs
    ]
    back = pull(given._replace(inputs=list(inputs), outputs=outputs), cotangents)
    return {k for k, c in enumerate(back) if c is not None and is_float(inputs[k]) and _any(c)}


def drawn_like(draws: Any, outputs: Sequence[Tensor]) -> list[Tensor]:
    """Random cotangents of outputs; zeros for those that are no floats."""
    return [
        tf.cast(tf.constant(draws.standard_normal(tuple(y.shape))), y.dtype)
        if is_float(y)
        else tf.zeros_like(y)
        for y in outputs
    ]


def _any(x: Tensor) -> bool:
    return bool(np.any(np.asarray(_hooks.raw_numpy(tf.convert_to_tensor(x)), np.complex64) != 0))
