"""Parameters of a gradient that are learned: boxes, operands of the captured op beside its own."""

from __future__ import annotations

from typing import Any

import numpy as np

import surrogate
from surrogate_autograd import _hooks
from surrogate_autograd._operands import are_real

Array = Any


def operands_of(rule: surrogate.Rule) -> list[Array]:
    """The learned parameters of a rule, as operands.

    Raises:
        ParameterError: one is another framework's, no real floating-point array, or of a derivative that has
            been computed.
    """
    return [_own(rule, one.tensor) for one in rule.learned]


def _own(rule: surrogate.Rule, value: Any) -> Array:
    if not _hooks.isbox(value) or not are_real([value]):
        raise surrogate.ParameterError(
            f"{rule.id}: a learned parameter is a {type(value).__name__}, where autograd needs a real array "
            "that is differentiated."
        )
    if _hooks.opened(value)[1] > _hooks.trace_stack.top:
        raise surrogate.ParameterError(
            f"{rule.id}: a learned parameter is of a derivative that has been computed. Make the gradient in "
            "the function that is differentiated."
        )
    return value


def without_boxes(rule: surrogate.Rule) -> surrogate.Rule:
    """The rule as what is recorded keeps it: without the boxes, which hold what is recorded."""
    return rule.apart if isinstance(rule, surrogate.LearnedRule) else rule


def dtype_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """In what dtype they are kept beside inputs of this one: formulas are evaluated in float32 at least."""
    return dtype if dtype.itemsize >= 4 else np.dtype(np.float32)
