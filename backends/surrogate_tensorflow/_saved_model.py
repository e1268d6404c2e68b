"""SavedModels: what is saved keeps its marks; what was loaded cannot be reached, and says so."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import surrogate
from surrogate_tensorflow import _forward, _hooks, _types
from surrogate_tensorflow._ops import OP_TYPES

if TYPE_CHECKING:
    from surrogate_tensorflow._backend import TensorFlowBackend


def make_trace_gradients() -> Any:
    """Classic gradients are saved by name: TensorFlow would trace them with no op, and fail."""
    native = _hooks.trace_saved_gradients.native

    def trace_gradients(*args: Any, **kwargs: Any) -> Any:
        registry = _hooks.gradient_registry.native._registry
        hidden = {name: registry.pop(name) for name in _types.classic_names if name in registry}
        try:
            return native(*args, **kwargs)
        finally:
            registry.update(hidden)

    return trace_gradients


def make_call_loaded(backend: TensorFlowBackend) -> Any:
    """A function of a loaded SavedModel that is called inside an override keeps its own gradients: say so."""
    native = _hooks.call_loaded.native

    def call_loaded(self: Any, *args: Any, **kwargs: Any) -> Any:
        missed = sorted(_unmarked(self.graph).intersection(backend.scope.here().state.rules))
        if missed:
            warnings.warn(
                f"the function {self.graph.name!r} of a loaded SavedModel runs inside an override of "
                f"{', '.join(missed)}, but keeps the gradients it was saved with. Save the model inside "
                "the override, or build it from its code.",
                surrogate.SurrogateWarning,
                stacklevel=2,
            )
        return native(self, *args, **kwargs)

    return call_loaded


def _unmarked(graph: Any) -> frozenset[str]:
    """Ops that the graph has and that carry no rule."""
    known: frozenset[str] | None = getattr(graph, "_surrogate_unmarked", None)
    if known is None:
        nodes = [n for n in _forward.nodes(graph) if "_gradient_op_type" not in n.node_def.attr]
        found = {OP_TYPES[node.type] for node in nodes if node.type in OP_TYPES}
        if any(node.type == "Maximum" and "clip_by_value" in node.name for node in nodes):
            found.add("clip")
        known = graph._surrogate_unmarked = frozenset(found)
    return known
