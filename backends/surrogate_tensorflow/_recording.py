"""Talking to TensorFlow's tapes and accumulators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from surrogate_tensorflow import _hooks

Tensor = Any


class unrecorded:  # noqa: N801 (a context manager, and a hot one: no generator)
    """Run a block that no tape and no accumulator of this thread sees.

    What is kept for backward must not itself be recorded: the tape would keep its inputs.
    """

    __slots__ = ("_stopped",)

    def __enter__(self) -> None:
        self._stopped = _hooks.tape_is_stopped.native()
        if not self._stopped:
            _hooks.stop_tapes.native()

    def __exit__(self, *_: object) -> None:
        if not self._stopped:
            _hooks.restart_tapes.native()


def wanted(inputs: Sequence[Tensor]) -> tuple[bool, ...]:
    """Which of the inputs a tape watches or an accumulator has a tangent for."""
    watched = _hooks.is_watched.native
    if len(inputs) == 1:
        return (watched(inputs) or _has_tangent(inputs),)
    return tuple(watched([x]) or _has_tangent([x]) for x in inputs)


def _has_tangent(inputs: Sequence[Tensor]) -> bool:
    return bool(_hooks.pack_tangents.native(list(inputs))[1])


def record(
    op_type: str,
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    backward: Callable[..., Any],
    forward: Callable[..., Any] | None = None,
) -> None:
    """Put an op on every tape and accumulator, with gradient functions of its own."""
    _hooks.record_operation.native(op_type, list(outputs), list(inputs), backward, forward)


def with_zero_derivative(x: Tensor, inputs: Sequence[Tensor]) -> Tensor:
    """``x``, whose derivative by ``inputs`` is 0 and not None for the tapes that run.

    Needs no memory: of the inputs only shapes and dtypes are kept.
    """
    known = [v for v in inputs if v.shape.is_fully_defined()]
    kinds = [(v.shape, v.dtype) for v in known]
    with unrecorded():
        y = tf.identity(x)
    record("Identity", [y], [x, *known], lambda g: [g, *(tf.zeros(*kind) for kind in kinds)])
    return y
