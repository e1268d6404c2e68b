"""Origins: what a boolean or integer came from, kept with it for as long as it lives.

A comparison under a rule leaves its *origin* with its result. Where the result becomes a float again, or
selects among floats, the gradient goes on through the origin's *float twin*: a float tensor whose gradient is
the rule's. In a graph the origin lies with the node; of an eager tensor there is a weak table.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from surrogate_tensorflow import _hooks

Tensor = Any
Make = Callable[[Tensor], Tensor]


class Origin:
    """How a gradient goes on from a boolean or integer tensor.

    Args:
        make: makes the float twin, given the tensor. Called once, when it is first wanted.
        dtype: the twin's.
        boolean: whether all values are 0 or 1, also where the tensor is an integer.
        classes: makes the one-hot vectors of the tensor, classes along the last axis, if it is the index of
            an ``argmax``.
        token: kept alive with it; see :meth:`Scope.token`.
    """

    __slots__ = ("_classes", "_made", "_make", "_twin", "boolean", "dtype", "token")

    def __init__(
        self,
        make: Make,
        *,
        dtype: Any,
        boolean: bool = False,
        classes: Make | None = None,
        token: object = None,
    ) -> None:
        self._make, self._classes = make, classes
        self._twin: Tensor | None = None
        self._made: Tensor | None = None
        self.dtype, self.boolean, self.token = dtype, boolean, token

    def twin(self, tensor: Tensor) -> Tensor:
        """The float twin; ``tensor`` is the one that this is the origin of."""
        if self._twin is None:
            self._twin = self._make(tensor)
        return self._twin

    @property
    def of_classes(self) -> bool:
        """Whether it is the index of an ``argmax`` or ``argmin``."""
        return self._classes is not None

    def classes(self, tensor: Tensor) -> Tensor:
        """The one-hot vectors of an index, classes along the last axis."""
        if self._made is None:
            assert self._classes is not None
            self._made = self._classes(tensor)
        return self._made


_eager = _hooks.eager_tensor.native

#: The origins of eager tensors, by ``id``. An entry goes when its tensor goes; what is checked is the tensor.
_table: dict[int, tuple[weakref.ref[Any], Origin]] = {}
_in_graphs = False


def there_are_any() -> bool:
    """Whether there may be a tensor with an origin."""
    return bool(_table) or _in_graphs


def leave(tensor: Tensor, origin: Origin) -> None:
    """Leave an origin with a tensor."""
    global _in_graphs
    if not isinstance(tensor, _eager):
        _in_graphs = True
        node = tensor.op
        known: dict[int, Origin] | None = getattr(node, "_surrogate_origins", None)
        if known is None:
            known = node._surrogate_origins = {}
        known[tensor.value_index] = origin
        return
    key, table = id(tensor), _table  # bound: when Python ends the module's names go before the last tensors

    def gone(reference: weakref.ref[Any]) -> None:
        if table.get(key, (None,))[0] is reference:
            del table[key]

    table[key] = weakref.ref(tensor, gone), origin


def eager_origin(tensor: Tensor) -> Origin | None:
    """The origin of an eager tensor, or None; anything may be asked about."""
    found = _table.get(id(tensor))
    return found[1] if found is not None and found[0]() is tensor else None


def any_eager(arguments: Sequence[Any]) -> bool:
    """Whether one of an op's arguments, or of a list among them, has an origin."""
    for argument in arguments:
        if id(argument) in _table:
            return True
        if type(argument) is list and any(id(one) in _table for one in argument):
            return True
    return False


def find(tensor: Tensor) -> tuple[Tensor, Origin] | None:
    """A tensor's origin, with the tensor whose twin it makes: of what a function captures, the outer one."""
    if isinstance(tensor, _eager):
        found = eager_origin(tensor)
        return None if found is None else (tensor, found)
    while True:
        node = tensor.op
        known = getattr(node, "_surrogate_origins", None)
        if known and tensor.value_index in known:
            return tensor, known[tensor.value_index]
        outer = _outer(tensor) if node.type == "Placeholder" else None
        if outer is None or isinstance(outer, _eager):  # an eager one was captured as a constant
            return None
        tensor = outer


def _outer(tensor: Tensor) -> Tensor | None:
    """The tensor of an outer graph that a placeholder stands for, or None."""
    captures = getattr(tensor.graph, "captures", ())
    return next((outer for outer, inner in captures if inner is tensor), None)


def twin(tensor: Tensor, dtype: Any) -> Tensor:
    """The float twin of a tensor; of one without an origin, its cast, which has no gradient."""
    if tensor.dtype.is_floating:
        return tensor
    found = find(tensor)
    if found is None:
        return tf.cast(tensor, dtype)
    owner, origin = found
    return tf.cast(_in_graph_of(owner, origin.twin), dtype)


def classes(tensor: Tensor) -> Tensor | None:
    """The one-hot vectors of a tensor that is the index of an ``argmax``, or None."""
    found = find(tensor)
    if found is None or not found[1].of_classes:
        return None
    return _in_graph_of(found[0], found[1].classes)


def _in_graph_of(tensor: Tensor, make: Make) -> Tensor:
    if isinstance(tensor, _eager):
        return make(tensor)
    with tensor.graph.as_default(), tf.control_dependencies(None):
        return make(tensor)
