"""What is saved keeps its marks; what was loaded, or traced by hand, cannot be reached, and says so."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import surrogate
from surrogate_tensorflow import _forward, _graph, _hooks, _names, _types
from surrogate_tensorflow._spellings import OP_TYPES

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
        here = backend.scope.here()
        missed = sorted(op for op in _unmarked(self.graph) if here.state.rule(op) is not None)
        missed += _other_types(self.graph, here.types)
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


def make_call_concrete(backend: TensorFlowBackend) -> Any:
    """A ConcreteFunction that the user calls keeps the gradients of its trace: say so if they differ."""
    native, loaded = _hooks.call_concrete.native, _hooks.call_loaded.owner()

    def call_concrete(self: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self, loaded):  # it says so itself
            return native(self, *args, **kwargs)
        here = backend.scope.here()
        rules = here.state.rules
        traced = _gradients(self.graph) if rules else {}
        others = sorted(
            op
            for op in rules
            if (gradient := here.state.rule(op)) is not None
            and not all(_names.is_of(name, gradient) for name in traced.get(op, ()))
        )
        others += _other_types(self.graph, here.types)
        if others:
            warnings.warn(
                f"the concrete function {self.graph.name!r} runs inside an override of {', '.join(others)}, "
                "but keeps the gradients it was traced with. Call the tf.function, or get the concrete "
                "function inside the override.",
                surrogate.SurrogateWarning,
                stacklevel=3,
            )
        return native(self, *args, **kwargs)

    return call_concrete


def _gradients(graph: Any) -> dict[str, set[str]]:
    """Ops that the graph has -> names of the rules that they carry, empty for none."""
    known: dict[str, set[str]] | None = getattr(graph, "_surrogate_gradients", None)
    if known is None:
        known = graph._surrogate_gradients = {}
        for node in _forward.nodes(graph):
            rule = _graph.rule_of(node)
            if rule is not None:
                known.setdefault(rule.id.partition(":")[0], set()).add(_names.name_of(rule))
            elif node.type in OP_TYPES and _is_floating(node) and not getattr(node, "_surrogate_own", False):
                known.setdefault(OP_TYPES[node.type], set()).add("")
    return known


def _other_types(graph: Any, types: Mapping[str, str]) -> list[str]:
    """Op types that ``gradient_override_map`` is about here and that the graph has with another gradient."""
    nodes = (n for n in _forward.nodes(graph) if n.type in types and _is_floating(n)) if types else ()
    return sorted({n.type for n in nodes if _graph.mark_of(n) != types[n.type]})


def _is_floating(node: Any) -> bool:
    return bool(node.outputs) and bool(node.outputs[0].dtype.is_floating)


def _unmarked(graph: Any) -> frozenset[str]:
    """Ops that the graph has and that carry no rule."""
    known: frozenset[str] | None = getattr(graph, "_surrogate_unmarked", None)
    if known is None:
        nodes = [n for n in _forward.nodes(graph) if "_gradient_op_type" not in n.node_def.attr]
        found = {OP_TYPES[node.type] for node in nodes if node.type in OP_TYPES and _is_floating(node)}
        if any(node.type == "Maximum" and "clip_by_value" in node.name for node in nodes):
            found.add("clip")
        known = graph._surrogate_unmarked = frozenset(found)
    return known
