"""Op types that are watched, and the classic ``(op, grad)`` functions of ``gradient_override_map``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from surrogate_tensorflow import _hooks
from surrogate_tensorflow._spellings import CARRIER, DISCRETE_TYPES, OP_TYPES

#: Op types that any rule or map was ever about: all others pass untouched.
watched: set[str] = {*OP_TYPES, CARRIER}


def watch_discrete(ops: Collection[str]) -> None:
    """Watch the op types of these ops that give booleans and integers: casts and the like are everywhere."""
    if not _discrete.isdisjoint(ops):
        watched.update(op_type for op_type, op in DISCRETE_TYPES.items() if op in ops)


_discrete = frozenset(DISCRETE_TYPES.values())

#: Names of registered gradients that ``gradient_override_map`` has written into graphs.
classic_names: set[str] = set()


def attribute_of(op_type: str, attributes: Any) -> Callable[[str], Any]:
    """Looks up the attributes of an op that ran eagerly: names and values in turn.

    As the method of an op in a graph it raises ValueError for one that the op has not.
    """

    def get_attr(name: str) -> Any:
        found = dict(zip(attributes[::2], attributes[1::2], strict=True)) if attributes else {}
        if name not in found:
            raise ValueError(f"the op {op_type} has no attribute {name!r}; it has: {', '.join(found)}.")
        return found[name]

    return get_attr


class EagerNode:
    """What a classic gradient function sees of an op that ran eagerly.

    Attributes:
        type: the op type.
        inputs, outputs: its tensors.
        get_attr: gives the value of an attribute by its name, and keeps none of the tensors.
    """

    def __init__(self, op_type: str, inputs: Sequence[Any], attributes: Any, outputs: Sequence[Any]) -> None:
        self.type, self.inputs, self.outputs = op_type, tuple(inputs), tuple(outputs)
        self.get_attr = attribute_of(op_type, attributes)


def classic(name: str, node: Any) -> Callable[..., list[Any]]:
    """The registered gradient function ``name`` as a backward function of ``node``."""
    function = _hooks.gradient_registry.native.lookup(name)

    def backward(*upstream: Any) -> list[Any]:
        found = function(node, *upstream)
        return list(found) if isinstance(found, list | tuple) else [found]

    return backward
