"""SavedModels: what is saved keeps its marks; what was loaded cannot be reached, and says so."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
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
    """A function of a loaded SavedModel that is called inside an override keeps its own gradients."""
    native = _hooks.call_loaded.native

    def call_loaded(function: Any, *args: Any, **kwargs: Any) -> Any:
        here = backend.scope.here()
        if not here.empty:
            missed = _missed(here.state.rules, function.graph)
            if missed:
                warnings.warn(
                    f"the function {function.name!r} of a loaded SavedModel runs inside an override of "
                    f"{', '.join(missed)}, but keeps the gradients it was saved with. Save the model inside "
                    "the override, or build it from its code.",
                    surrogate.SurrogateWarning,
                    stacklevel=2,
                )
        return native(function, *args, **kwargs)

    return call_loaded


def _missed(rules: Iterable[str], graph: Any) -> list[str]:
    """Ops of ``rules`` that the graph has and that carry no rule."""
    names = {
        OP_TYPES[node.type]
        for node in _forward.nodes(graph)
        if node.type in OP_TYPES and "_gradient_op_type" not in node.node_def.attr
    }
    return sorted(names.intersection(rules))
