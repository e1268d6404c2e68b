"""Parameters of a gradient that are learned: operands of the captured op beside its own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax

import surrogate
from surrogate_jax._call import Call, Value
from surrogate_jax._control_flow import ReadBefore, in_control_flow
from surrogate_jax._placement import vary_together
from surrogate_jax._primitive import surrogate_p
from surrogate_jax._scope import suspended


@dataclass(frozen=True)
class _Ignoring:
    """A value that does not depend on the last operands."""

    value: Value
    count: int

    @property
    def function(self) -> str:
        return self.value.function

    def __call__(self, *operands: Any) -> Any:
        return self.value(*operands[: -self.count])

    def __repr__(self) -> str:
        return repr(self.value)


def wants_gradient(value: Any) -> bool:
    """Whether an array, given as a parameter, is learned: an argument of what is traced, or made of one."""
    return isinstance(value, jax.core.Tracer)


def bind(call: Call, operands: Sequence[Any]) -> Any:
    """The captured call, with the learned parameters of its rule as further operands.

    Raises:
        ParameterError: one is another framework's, or a parameter's shape does not broadcast to the inputs'.
    """
    rule = call.rule
    if rule.shaped:  # here, where nothing is mapped yet, are the shapes that the user sees
        rule.check([x for x in call.inputs(operands) if hasattr(x, "dtype")])
    if not isinstance(rule, surrogate.LearnedRule):
        if rule.variables and in_control_flow(sys._getframe(1)):
            return _bind_with_values(call, operands)
        return surrogate_p.bind(*operands, call=call)
    tensors = [one.tensor for one in rule.learned]
    for tensor in tensors:
        if not isinstance(tensor, jax.Array):
            raise surrogate.ParameterError(
                f"{rule.id}: a learned parameter is a {type(tensor).__name__}, where JAX needs an array."
            )
    return _bind(call, rule.apart, operands, tensors)


def _bind_with_values(call: Call, operands: Sequence[Any]) -> Any:
    rule = ReadBefore(call.rule)
    with suspended(*operands):
        values = rule.read(operands)
    return _bind(call, rule, operands, values)


def _bind(call: Call, rule: surrogate.Rule, operands: Sequence[Any], more: Sequence[Any]) -> Any:
    """With more operands, which the value ignores."""
    numbers = (*call.numbers, *[None] * len(more))
    full = Call(rule, _Ignoring(call.native, len(more)), numbers, len(more), call.place)
    return surrogate_p.bind(*vary_together([*operands, *more]), call=full)
