"""Graphs: a node under a rule is marked, and its gradient found by the mark.

The mark is the node's ``_gradient_op_type``, what ``tf.Graph.gradient_override_map`` writes too. It goes
wherever the node goes: into functions, loops, vectorized copies and SavedModels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tensorflow.core.framework.attr_value_pb2 import AttrValue

import surrogate
from surrogate_tensorflow import _called, _hooks, _names, _natives, _types
from surrogate_tensorflow._capture import Capture
from surrogate_tensorflow._discrete import CONSUMERS
from surrogate_tensorflow._learned import inputs_of
from surrogate_tensorflow._met import blocks, ran
from surrogate_tensorflow._origins import there_are_any
from surrogate_tensorflow._recording import record
from surrogate_tensorflow._spellings import CARRIER, DISCRETE_TYPES, OP_TYPES
from surrogate_tensorflow._whose import NAMED_OTHERWISE, NOT_FLOATING, TENSORFLOWS_OWN, is_users

if TYPE_CHECKING:
    from surrogate_tensorflow._backend import TensorFlowBackend
    from surrogate_tensorflow._scope import Situation

Node = Any
Tensor = Any
_MARK = "_gradient_op_type"


def make_apply_op(backend: TensorFlowBackend) -> Any:
    """What every node of a graph is made by."""
    native, watched = _hooks.apply_op.native, _types.watched
    no_tape = _hooks.tape_is_empty.native

    def apply_op(op_type: str, /, name: Any = None, **keywords: Any) -> Any:
        result = native(op_type, name=name, **keywords)
        if blocks:
            ran(op_type)
        if op_type in watched:
            carried = _mark_new(backend, op_type, result[2], keywords)
            if carried is not None:
                return (*result[:3], [carried])
        if op_type not in CONSUMERS or not there_are_any() or not no_tape():
            return result  # where a tape runs, the origins are carried on when the op is recorded
        node = result[2]
        found = backend.discrete.go_on(op_type, node.inputs, node, node.outputs)
        return result if found is None else (*result[:3], found)

    return apply_op


def make_import_nodes(backend: TensorFlowBackend) -> Any:
    """What nodes come in by that were not made here: ``tf.import_graph_def``, a SavedModel that is loaded."""
    native, watched = _hooks.import_nodes.native, _types.watched

    def import_nodes(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = native(self, *args, **kwargs)
        for node in made:
            if node.type in watched:
                _mark_new(backend, node.type, node, {})
        return made

    return import_nodes


def make_function_context(backend: TensorFlowBackend) -> Any:
    """tf.function's cache key: one trace for each set of rules."""
    native = _hooks.function_context.native

    def function_context(*args: Any, **kwargs: Any) -> Any:
        found, here, attached = native(*args, **kwargs), backend.scope.here(), backend.scope.attached
        if here.empty and not attached:
            return found
        return found._replace(context=(found.context, here.key, attached))

    return function_context


def make_get_gradient_function(backend: TensorFlowBackend) -> Any:
    """Where tf.gradients, and tapes around a function, get a node's gradient."""
    native, scope = _hooks.get_gradient_function.native, backend.scope

    def get_gradient_function(node: Node) -> Any:
        capture = capture_of(backend, node)
        if capture is not None:
            return lambda node, *upstream: _cotangents(node, capture, upstream[0])
        function = native(node)
        if function is None:
            return None
        if node.type != CARRIER:
            return scope.suspending(function)
        return scope.bound(getattr(node, "_surrogate_situation", scope.nothing), function)

    return get_gradient_function


def record_marked(
    backend: TensorFlowBackend, op_type: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor]
) -> bool:
    """Record a marked node on the tapes inside its graph; False if it is not marked."""
    node = outputs[0].op
    if node.type == CARRIER != op_type:
        return True  # the value went through a carrier, which is on the tapes
    name = mark_of(node)
    if name in _types.classic_names:
        record(
            op_type, outputs, inputs, backend.classic(name, node), _natives.forward_of(backend, name, node)
        )
        return True
    capture = capture_of(backend, node)
    if capture is None:
        return False
    if op_type == CARRIER:
        outputs, inputs = outputs[:1], inputs[1:]
    record(op_type, outputs, inputs, capture.backward, lambda *t: capture.forward(t))
    return True


def rule_of(node: Node) -> surrogate.Rule | None:
    """The rule a node carries, or None."""
    if node.type not in _types.watched:
        return None
    capture: Capture | None = getattr(node, "_surrogate_capture", None)
    if capture is not None:
        return capture.rule
    name = mark_of(node)  # copied or loaded: only the name came along
    return _names.rule_of(name) if name.startswith(_names.PREFIX) else None


def capture_of(backend: TensorFlowBackend, node: Node) -> Capture | None:
    """The rule a node carries, attached to its inputs, or None. To be called where a node may be added."""
    if node.type not in _types.watched:
        return None
    capture: Capture | None = getattr(node, "_surrogate_capture", None)
    if capture is not None:
        return capture
    rule = rule_of(node)
    if rule is None:
        return None
    inputs = _operands(node)
    return Capture(rule, inputs, (True,) * len(inputs), backend.scope.suspension)


def mark(
    backend: TensorFlowBackend,
    node: Node,
    op: str,
    rule: surrogate.Rule,
    state: surrogate.State,
    needs: tuple[bool, ...],
) -> None:
    """Write a rule on a node and count it."""
    node._set_attr(_MARK, AttrValue(s=_names.name_of(rule).encode()))
    node._surrogate_capture = Capture(rule, _operands(node), needs, backend.scope.suspension)
    state.captured(op, kept=False)
    _called.note(node.graph, state, op)


def obeyed(
    backend: TensorFlowBackend, here: Situation, op_type: str, outputs: Sequence[Tensor]
) -> tuple[str | None, surrogate.Gradient | None] | None:
    """What a call obeys here: a gradient by its name, or a rule for our op; None: it stays native."""
    name, op = _natives.named(here, op_type), OP_TYPES.get(op_type, "")
    gradient = here.state.rule(op) if name is None else None
    if name is None and gradient is None:
        return None
    why = ""
    if name is None and not is_users(backend, op):
        why = TENSORFLOWS_OWN
    elif not outputs or not outputs[0].dtype.is_floating:
        why = NOT_FLOATING
    if why:
        here.state.missed(op if name is None else op_type, why)
        return None
    return name, gradient


def _mark_new(backend: TensorFlowBackend, op_type: str, node: Node, given: dict[str, Any]) -> Tensor | None:
    """Mark a node that was made; gives what is to be used in place of its output, if that is not enough."""
    here = backend.scope.here()
    if here.empty:
        node._surrogate_own = backend.scope.is_suspended  # TensorFlow's own, or a formula's
        return None
    if op_type == CARRIER:  # tf.custom_gradient and tf.recompute_grad: their backward recomputes
        node._surrogate_situation = here
    if op_type in DISCRETE_TYPES and _natives.named(here, op_type) is None:
        if node.outputs and not node.outputs[0].dtype.is_floating:
            backend.discrete.begin(here, op_type, node.inputs, node.get_attr, node.outputs[0])
        return None
    found = obeyed(backend, here, op_type, node.outputs)
    if found is None:
        return None
    name, gradient = found
    op = OP_TYPES.get(op_type, "")
    if mark_of(node):  # by tf.Graph.gradient_override_map, or by who saved it: that is meant for this node
        here.state.missed(op_type if gradient is None else op, NAMED_OTHERWISE)
        return None
    if name is not None:
        _types.classic_names.add(name)
        node._set_attr(_MARK, AttrValue(s=name.encode()))
        _natives.count(here, op_type, node.graph)
        return None
    # nobody differentiates by a Python number; generated code gives inputs by name, in order
    operands = list(given.values())[: len(node.inputs)] or node.inputs
    needs = tuple(not isinstance(x, int | float) for x in operands)
    assert gradient is not None
    if gradient.rule.learned:  # a node has no input for what is learned
        inputs = inputs_of(gradient.rule, node.inputs)
        needs += (True,) * len(gradient.rule.learned)
        return backend.carry(node.outputs[0], inputs, op, gradient.rule, here, needs)
    mark(backend, node, op, gradient.rule, here.state, needs)
    return None


def mark_of(node: Node) -> str:
    """The name of the gradient that a node carries; empty if it carries none."""
    try:
        return str(node.get_attr(_MARK).decode())
    except ValueError:
        return ""


def _operands(node: Node) -> list[Tensor]:
    """A node's inputs; those of a carrier come after the value it carries."""
    return list(node.inputs)[1 if node.type == CARRIER else 0 :]


def _cotangents(node: Node, capture: Capture, g: Tensor) -> list[Tensor | None]:
    found = capture.backward(g)
    return [None, *found] if node.type == CARRIER else found
