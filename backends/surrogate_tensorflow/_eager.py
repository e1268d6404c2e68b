"""Eager mode, and tapes inside graphs: leave the fast path, then record the rule, not the native gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import surrogate
from surrogate_tensorflow import _graph, _hooks, _types
from surrogate_tensorflow._capture import Capture
from surrogate_tensorflow._ops import OP_TYPES
from surrogate_tensorflow._recording import record, wanted
from surrogate_tensorflow._scope import Situation

if TYPE_CHECKING:
    from surrogate_tensorflow._backend import TensorFlowBackend

Tensor = Any


def make_fast_path(backend: TensorFlowBackend) -> Any:
    """The eager fast path, which an op under a rule leaves for the path that can be recorded.

    TensorFlow's generated wrappers take that path themselves when the fast one refuses.
    """
    native, refuse = _hooks.fast_path.native, _hooks.leave_fast_path.native
    no_tape, watched, scope = _hooks.tape_is_empty.native, _types.watched, backend.scope

    def fast_path(context: Any, op_type: str, name: Any, *args: Any) -> Any:
        if op_type in watched:
            if not no_tape():
                if _decides(scope.here(), op_type):
                    raise refuse("surrogate")
            elif scope.here().state.traced:
                scope.here().state.missed(OP_TYPES.get(op_type, ""), "no gradient is recorded")
        return native(context, op_type, name, *args)

    return fast_path


def make_record_gradient(backend: TensorFlowBackend) -> Any:
    """What every recorded op passes through, unless it took the fast path."""
    native, eager, watched = _hooks.record_gradient.native, _hooks.eager_tensor.native, _types.watched

    def record_gradient(
        op_type: str, inputs: Sequence[Tensor], attributes: Any, outputs: Sequence[Tensor]
    ) -> None:
        if op_type in watched:
            if not isinstance(outputs[0], eager):
                if _graph.record_marked(backend, op_type, inputs, outputs):
                    return
            elif backend.scope.alive and _record_eager(backend, op_type, inputs, attributes, outputs):
                return
        native(op_type, inputs, attributes, outputs)

    return record_gradient


def _decides(here: Situation, op_type: str) -> bool:
    op = OP_TYPES.get(op_type)
    return op_type in here.types or (op is not None and here.state.rule(op) is not None)


def _record_eager(
    backend: TensorFlowBackend,
    op_type: str,
    inputs: Sequence[Tensor],
    attributes: Any,
    outputs: Sequence[Tensor],
) -> bool:
    here = backend.scope.here()
    name, op = here.types.get(op_type), OP_TYPES.get(op_type, "")
    gradient = here.state.rule(op) if name is None else None
    if name is None and gradient is None:
        return False
    if not outputs[0].dtype.is_floating:
        here.state.missed(op, "not a real floating-point tensor")
        return False
    needs = wanted(inputs)
    if not any(needs):
        here.state.missed(op, "no gradient is recorded")
        return False
    if name is not None:
        node = _types.EagerNode(op_type, inputs, attributes, outputs)
        record(op_type, outputs, inputs, backend.classic(name, node))
        return True
    assert gradient is not None
    attach(backend, op, here.state, gradient.rule, op_type, inputs, outputs, needs)
    return True


def attach(
    backend: TensorFlowBackend,
    op: str,
    state: surrogate.State,
    rule: surrogate.Rule,
    op_type: str,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    needs: tuple[bool, ...],
) -> None:
    """Record an op under a rule and count it. It ran eagerly: it never runs again unseen."""
    capture = Capture(rule, inputs, needs, backend.scope.pause)
    record(op_type, outputs, inputs, capture.backward, lambda *t: capture.forward(t))
    state.captured(op, kept=False)
    if backend.recorder is not None:
        backend.recorder.captured(rule, inputs, outputs)
