"""Op types that are watched, and the classic ``(op, grad)`` functions of ``gradient_override_map``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from surrogate_tensorflow import _hooks
from surrogate_tensorflow._ops import CARRIER, OP_TYPES

#: Op types that any rule or map was ever about: all others pass untouched.
watched: set[str] = {*OP_TYPES, CARRIER}

#: Names of registered gradients that ``gradient_override_map`` has written into graphs.
classic_names: set[str] = set()


class EagerNode:
    """What a classic gradient function sees of an op that ran eagerly.

    Attributes:
        type: the op type.
        inputs, outputs: its tensors.
    """

    def __init__(self, op_type: str, inputs: Sequence[Any], attributes: Any, outputs: Sequence[Any]) -> None:
        self.type, self.inputs, self.outputs = op_type, tuple(inputs), tuple(outputs)
        self._attributes = attributes or ()

    def get_attr(self, name: str) -> Any:
        """The value of an attribute of the op.

        Raises:
            ValueError: the op has no such attribute.
        """
        found = dict(zip(self._attributes[::2], self._attributes[1::2], strict=True))
        if name not in found:
            raise ValueError(f"the op {self.type} has no attribute {name!r}; it has: {', '.join(found)}.")
        return found[name]


def classic(name: str, node: Any) -> Callable[..., list[Any]]:
    """The registered gradient function ``name`` as a backward function of ``node``."""
    function = _hooks.gradient_registry.native.lookup(name)

    def backward(*upstream: Any) -> list[Any]:
        found = function(node, *upstream)
        return list(found) if isinstance(found, list | tuple) else [found]

    return backward
