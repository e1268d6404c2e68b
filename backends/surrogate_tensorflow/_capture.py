"""One op that obeys a rule: what it keeps, and its gradient in both directions."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

import surrogate
from surrogate_tensorflow import _hooks, _namespace as xp
from surrogate_tensorflow._kernels import is_plain_window, select
from surrogate_tensorflow._recording import unrecorded, with_zero_derivative
from surrogate_tensorflow._scope import Suspension

Tensor = Any


class Capture:
    """A rule attached to the inputs of one op.

    Args:
        rule: the rule.
        inputs: the op's inputs.
        needs: which of them want a derivative.
        suspension: runs the rule's functions with nothing in force.
    """

    __slots__ = ("_inputs", "_saved", "_shapes", "_suspension", "needs", "rule")

    def __init__(
        self, rule: surrogate.Rule, inputs: Sequence[Tensor], needs: tuple[bool, ...], suspension: Suspension
    ) -> None:
        self.rule, self.needs, self._suspension = rule, needs, suspension
        # what does not depend on the inputs must not keep them
        flat = rule.kept(needs) is not surrogate.Kind.INPUTS
        self._inputs = tuple(map(weakref.ref, inputs)) if flat else ()
        if len(inputs) == 1 and rule.kept(needs) is not surrogate.Kind.MASK:  # nothing is computed
            self._saved, self._shapes = rule.save(xp, inputs, needs), ()
            return
        self._saved, self._shapes = suspension.run(unrecorded, self._keep, inputs)

    def _keep(self, inputs: Sequence[Tensor]) -> tuple[Any, tuple[Any, ...]]:
        saved = self.rule.save(xp, inputs, self.needs)
        return saved, () if len(inputs) == 1 else tuple(map(_shape, inputs))

    def backward(self, g: Tensor) -> list[Tensor | None]:
        """One cotangent per input, of the input's shape; None where it is not needed."""
        return self._suspension.run(self._backward, g)

    def _backward(self, g: Tensor) -> list[Tensor | None]:
        if is_plain_window(self.rule):
            found: tuple[Tensor | None, ...] = (select(self._saved[0], g),)
        else:
            found = self.rule.vjp(xp, self._saved, g, self.needs)
        if self._shapes:
            pairs = zip(found, self._shapes, strict=True)
            found = tuple(None if c is None else _sum_to(c, shape) for c, shape in pairs)
        if not self._inputs or _hooks.tape_is_empty.native():
            return list(found)
        inputs = [x for x in (reference() for reference in self._inputs) if x is not None]
        return [None if c is None else with_zero_derivative(c, inputs) for c in found]

    def forward(self, tangents: Sequence[Tensor | None]) -> list[Tensor]:
        """The output's tangent.

        Raises:
            ForwardModeError: the rule depends on the upstream gradient.
        """
        return [self._suspension.run(self.rule.jvp, xp, self._saved, tangents, self.needs)]


def _shape(x: Tensor) -> Any:
    """The static shape if it is all known, else a tensor."""
    return tuple(x.shape) if x.shape.is_fully_defined() else tf.shape(x)


def _sum_to(x: Tensor, shape: Any) -> Tensor:
    if isinstance(shape, tuple) and x.shape.is_fully_defined():
        axes = surrogate.broadcast_axes(tuple(x.shape), shape)
        return tf.reshape(tf.reduce_sum(x, axes), shape) if axes else x
    axes, _ = tf.raw_ops.BroadcastGradientArgs(s0=shape, s1=tf.shape(x))
    return tf.reshape(tf.reduce_sum(x, axes), shape)
