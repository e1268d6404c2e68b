"""Talking to TensorFlow's tapes and accumulators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import tensorflow as tf

from surrogate_tensorflow import _hooks

T = TypeVar("T")
Tensor = Any


def unrecorded(function: Callable[..., T], *args: Any) -> T:
    """Call ``function`` unseen by the tapes and accumulators of this thread.

    What is kept for backward must not itself be recorded: the tape would keep its inputs. The tapes are
    started again by a call into TensorFlow that stands in the ``finally`` itself: an interrupt (Ctrl-C) can
    come between a block and the Python function that ends it, not between a block and this.
    """
    stopped = _hooks.tape_is_stopped.native()
    try:
        if not stopped:
            _hooks.stop_tapes.native()
        return function(*args)
    finally:
        if not stopped:
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
    y = unrecorded(tf.identity, x)
    record("Identity", [y], [x, *known], lambda g: [g, *(tf.zeros(*kind) for kind in kinds)])
    return y
