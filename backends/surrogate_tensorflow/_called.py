"""What a traced function has captured, told each time that it is called."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import surrogate
from surrogate_tensorflow import _hooks

if TYPE_CHECKING:
    from surrogate_tensorflow._backend import TensorFlowBackend

_NAME = "_surrogate_captured"


def note(graph: Any, state: surrogate.State, op: str) -> None:
    """An op was captured in a graph, and so in those around it that are being traced."""
    frame = sys._getframe(1)
    while graph is not None:
        around = getattr(graph, "outer_graph", None)
        _of(graph).add(state, op, frame, news=not getattr(around, "building_function", False))
        graph = around


def _of(graph: Any) -> surrogate.Compiled:
    found: surrogate.Compiled | None = getattr(graph, _NAME, None)
    if found is None:
        found = surrogate.Compiled()
        setattr(graph, _NAME, found)
    return found


def make_call_flat(backend: TensorFlowBackend) -> Any:
    """Every call of a traced function: one at the top tells what it captured, one in a graph hands it on."""
    native, default_graph = _hooks.call_flat.native, _hooks.default_graph.native

    def call_flat(self: Any, *args: Any, **kwargs: Any) -> Any:
        captured: surrogate.Compiled | None = getattr(self.graph, _NAME, None)
        if captured and not backend.scope.is_suspended:
            around = default_graph()
            if around.building_function:
                _of(around).update(captured)
            else:
                captured.ran(backend.scope.here().state)
        return native(self, *args, **kwargs)

    return call_flat
