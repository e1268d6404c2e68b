"""tf.vectorized_map: a composite's carrier keeps its mark when a loop body is vectorized."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import surrogate
from surrogate_tensorflow import _functions, _graph, _hooks
from surrogate_tensorflow._graft import is_graft
from surrogate_tensorflow._spellings import CARRIER

if TYPE_CHECKING:
    from surrogate_tensorflow._backend import TensorFlowBackend

_native: dict[str, Any] = {}


def install(backend: TensorFlowBackend) -> None:
    """Convert marked carriers ourselves; TensorFlow's converter drops the mark, silently."""
    converters = _hooks.vectorizers.native
    native = _native.setdefault(CARRIER, converters[CARRIER])
    create, wrap = _hooks.create_vectorized.native, _hooks.wrap_vectorized.native

    def convert(pfor_input: Any) -> Any:
        node = pfor_input.op
        attributes = _functions.vectorized(node)
        if _graph.rule_of(node) is None and attributes is None and not is_graft(node):
            return native(pfor_input)
        pfor_input.stack_inputs()
        tensors = [x.t for x in pfor_input.inputs]
        if len({x.shape.rank for x in tensors}) > 1 or tensors[0].shape.rank is None:
            raise surrogate.UnsupportedOpError(
                "a composite op inside tf.vectorized_map needs operands of known rank, to keep its gradient; "
                f"{node.name} has {[str(x.shape) for x in node.inputs]}. Set their shapes, or use tf.map_fn."
            )
        made = create(
            CARRIER, tensors, [x.dtype for x in node.outputs], attrs=attributes or node.node_def.attr
        )
        return [wrap(output, True) for output in made.outputs]

    converters[CARRIER] = convert


def uninstall() -> None:
    """Put TensorFlow's converter back."""
    _hooks.vectorizers.native.update(_native)
