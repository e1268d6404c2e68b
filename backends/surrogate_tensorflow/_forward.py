"""Forward mode over a traced function, which TensorFlow gets by transposing its backward."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import surrogate
from surrogate_tensorflow import _graph, _hooks, _natives

if TYPE_CHECKING:
    from surrogate_tensorflow._backend import TensorFlowBackend


def make_function_jvps(backend: TensorFlowBackend) -> Any:
    """Transposing a gradient that depends on the upstream one gives a wrong number: refuse it."""
    native = _hooks.function_jvps.native

    def function_jvps(self: Any, *args: Any, **kwargs: Any) -> Any:
        for node in nodes(self._func_graph):
            formula = _natives.without_forward_mode(_graph.mark_of(node))
            if formula:
                raise surrogate.ForwardModeError(
                    f"{formula} has no forward mode, and so has none a function that uses it "
                    f"({self._func_graph.name}): register it with jvp=."
                )
            rule = _graph.rule_of(node)
            if rule is not None and not rule.forward_mode:
                raise surrogate.ForwardModeError(
                    f"{rule.id} depends on the upstream gradient (upstream=True), so a "
                    f"function that uses it ({self._func_graph.name}) has no forward mode."
                )
        return native(self, *args, **kwargs)

    return function_jvps


def nodes(graph: Any) -> Iterator[Any]:
    """All nodes of a graph and of the functions it calls."""
    seen: set[str] = set()
    pending = [graph]
    while pending:
        graph = pending.pop()
        for node in graph.get_operations():
            yield node
            for name in _called(node):
                function = _function(graph, name)
                if name not in seen and function is not None:
                    seen.add(name)
                    pending.append(function.graph)


def _called(node: Any) -> Iterator[str]:
    for value in node.node_def.attr.values():
        if value.HasField("func"):
            yield value.func.name
        for function in value.list.func:
            yield function.name


def _function(graph: Any, name: str) -> Any:
    while graph is not None:
        found = getattr(graph, "_functions", {}).get(name)
        if found is not None:
            return found
        graph = getattr(graph, "outer_graph", None)
    return None
