"""One op that obeys a rule: what it keeps, and its gradient in both directions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

import surrogate
from surrogate_tensorflow import _namespace as xp
from surrogate_tensorflow._recording import unrecorded
from surrogate_tensorflow._scope import Pause

Tensor = Any


class Capture:
    """A rule attached to the inputs of one op.

    Args:
        rule: the rule.
        inputs: the op's inputs.
        needs: which of them want a derivative.
        pause: the context in which the rule's functions run.
    """

    __slots__ = ("_pause", "_saved", "_shapes", "needs", "rule")

    def __init__(
        self, rule: surrogate.Rule, inputs: Sequence[Tensor], needs: tuple[bool, ...], pause: Pause
    ) -> None:
        self.rule, self.needs, self._pause = rule, needs, pause
        if len(inputs) == 1 and rule.kept(needs) is not surrogate.Kind.MASK:  # nothing is computed
            self._saved, self._shapes = rule.save(xp, inputs, needs), ()
            return
        with pause, unrecorded():
            self._saved = rule.save(xp, inputs, needs)
            self._shapes = () if len(inputs) == 1 else tuple(map(_shape, inputs))

    def backward(self, g: Tensor) -> list[Tensor | None]:
        """One cotangent per input, of the input's shape; None where it is not needed."""
        with self._pause:
            found = self.rule.vjp(xp, self._saved, g, self.needs)
            if not self._shapes:
                return list(found)
            return [
                None if cotangent is None else _sum_to(cotangent, shape)
                for cotangent, shape in zip(found, self._shapes, strict=True)
            ]

    def forward(self, tangents: Sequence[Tensor | None]) -> list[Tensor]:
        """The output's tangent.

        Raises:
            ForwardModeError: the rule depends on the upstream gradient.
        """
        with self._pause:
            return [self.rule.jvp(xp, self._saved, tangents, self.needs)]


def _shape(x: Tensor) -> Any:
    """The static shape if it is all known, else a tensor."""
    return tuple(x.shape) if x.shape.is_fully_defined() else tf.shape(x)


def _sum_to(x: Tensor, shape: Any) -> Tensor:
    if isinstance(shape, tuple) and x.shape.is_fully_defined():
        axes = surrogate.broadcast_axes(tuple(x.shape), shape)
        return tf.reshape(tf.reduce_sum(x, axes), shape) if axes else x
    axes, _ = tf.raw_ops.BroadcastGradientArgs(s0=shape, s1=tf.shape(x))
    return tf.reshape(tf.reduce_sum(x, axes), shape)
