"""Eager mode, and tapes inside graphs: leave the fast path, then record the rule, not the native gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import surrogate
from surrogate_tensorflow import _graph, _hooks, _natives, _types
from surrogate_tensorflow._capture import Capture
from surrogate_tensorflow._discrete import CONSUMERS
from surrogate_tensorflow._learned import inputs_of
from surrogate_tensorflow._met import blocks, ran
from surrogate_tensorflow._origins import any_eager, there_are_any
from surrogate_tensorflow._recording import record, wanted
from surrogate_tensorflow._spellings import DISCRETE_TYPES, OP_TYPES, op_of
from surrogate_tensorflow._whose import NOT_RECORDED, TENSORFLOWS_OWN, is_users

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
        if blocks:
            ran(op_type)
        if op_type in watched:
            if not no_tape():
                if _decides(backend, op_type):
                    raise refuse("surrogate")
            elif scope.here().state.traced:
                scope.here().state.missed(op_of(op_type) or op_type, NOT_RECORDED)
        if op_type in CONSUMERS and any_eager(args) and not no_tape() and not scope.is_suspended:
            raise refuse("surrogate")
        return native(context, op_type, name, *args)

    return fast_path


def make_record_gradient(backend: TensorFlowBackend) -> Any:
    """What every recorded op passes through, unless it took the fast path."""
    native, eager, watched = _hooks.record_gradient.native, _hooks.eager_tensor.native, _types.watched

    def record_gradient(
        op_type: str, inputs: Sequence[Tensor], attributes: Any, outputs: list[Tensor]
    ) -> None:
        recorded, is_eager = False, isinstance(outputs[0], eager)
        if op_type in watched:
            if not is_eager:
                recorded = _graph.record_marked(backend, op_type, inputs, outputs)
            elif backend.scope.alive:
                recorded = _record_eager(backend, op_type, inputs, attributes, outputs)
        if not recorded:
            native(op_type, inputs, attributes, outputs)
            if op_type in DISCRETE_TYPES and op_type in watched and is_eager:
                here = backend.scope.here()
                attribute = _types.attribute_of(op_type, attributes)
                backend.discrete.begin(here, op_type, inputs, attribute, outputs[0])
        if op_type in CONSUMERS and there_are_any():
            _go_on(backend, op_type, inputs, attributes, outputs)

    return record_gradient


def _go_on(
    backend: TensorFlowBackend, op_type: str, inputs: Sequence[Tensor], attributes: Any, outputs: list[Tensor]
) -> None:
    """Carry origins on; ``outputs`` is the very list that TensorFlow's wrapper returns."""
    if isinstance(outputs[0], _hooks.eager_tensor.native):
        node: Any = _types.EagerNode(op_type, inputs, attributes, outputs)
    else:
        node = outputs[0].op
    found = backend.discrete.go_on(op_type, inputs, node, outputs)
    if found is not None:
        outputs[:] = found


def _decides(backend: TensorFlowBackend, op_type: str) -> bool:
    here, op = backend.scope.here(), op_of(op_type)
    if _natives.named(here, op_type) is not None:
        return True
    if op is None or here.state.rule(op) is None:
        return False
    if not is_users(backend, op):
        here.state.missed(op, TENSORFLOWS_OWN)
        return False
    return True


def _record_eager(
    backend: TensorFlowBackend,
    op_type: str,
    inputs: Sequence[Tensor],
    attributes: Any,
    outputs: Sequence[Tensor],
) -> bool:
    here = backend.scope.here()
    obeyed = _graph.obeyed(backend, here, op_type, outputs)
    if obeyed is None:
        return False
    name, gradient = obeyed
    op = OP_TYPES.get(op_type, "")
    if gradient is not None and gradient.rule.learned:
        inputs = inputs_of(gradient.rule, inputs)
    needs = wanted(inputs)
    if not any(needs):
        here.state.missed(op_type if gradient is None else op, NOT_RECORDED)
        return False
    if name is not None:
        node = _types.EagerNode(op_type, inputs, attributes, outputs)
        record(
            op_type, outputs, inputs, backend.classic(name, node), _natives.forward_of(backend, name, node)
        )
        _natives.count(here, op_type)
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
    capture = Capture(rule, inputs, needs, backend.scope.suspension)
    record(op_type, outputs, inputs, capture.backward, lambda *t: capture.forward(t))
    state.captured(op, kept=False)
    if backend.recorder is not None:
        backend.recorder.captured(rule, inputs, outputs)
