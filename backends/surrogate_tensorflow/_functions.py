"""Whole functions with another gradient: eagerly, in graphs and in what autograph has converted."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

import tensorflow as tf
from tensorflow.core.framework.attr_value_pb2 import AttrValue

from surrogate import FunctionKit, FunctionPull, State
from surrogate_tensorflow import _called, _hooks, _namespace
from surrogate_tensorflow._graph import mark_of
from surrogate_tensorflow._recording import record, unrecorded, wanted
from surrogate_tensorflow._spellings import CARRIER

if TYPE_CHECKING:
    from surrogate_tensorflow._backend import TensorFlowBackend

Tensor = Any
_GRAFT = "SurrogateGraft"
#: Name of a registered gradient -> the formula of one call, and how many values its node carries.
_PULLS: dict[str, tuple[Any, int]] = {}
_fresh = itertools.count()
#: Op types whose result has no derivative by what goes in.
_CUTS = frozenset({"StopGradient", "Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike"})


class Functions(FunctionKit):
    """The steps of a function's call that are TensorFlow's."""

    xp = _namespace

    def __init__(self, backend: TensorFlowBackend) -> None:
        self._scope = backend.scope

    def state(self) -> State | None:
        return None if self._scope.is_suspended else self._scope.here().state

    def is_tracing(self) -> bool:
        return not tf.executing_eagerly()

    def captured(self, state: State, path: str, frame: FrameType | None) -> None:
        state.captured(path, kept=False, frame=frame)
        if self.is_tracing():
            _called.note(_hooks.default_graph.native(), state, path)

    def recording(self, leaves: Sequence[Any]) -> bool:
        if not tf.executing_eagerly() or not _hooks.tape_is_empty.native():
            return True
        return self.wants([leaf for leaf in leaves if self.is_float(leaf)])

    def wants(self, arrays: Sequence[Tensor]) -> bool:
        return not tf.executing_eagerly() or any(wanted([_tensor(x) for x in arrays]))

    def flatten(self, tree: Any) -> tuple[list[Any], Callable[[Sequence[Any]], Any]]:
        return tf.nest.flatten(tree), lambda given: tf.nest.pack_sequence_as(tree, given)

    def is_float(self, x: Any) -> bool:
        return (isinstance(x, tf.Tensor | tf.Variable) and bool(x.dtype.is_floating)) or _is_keras_variable(x)

    def detach(self, x: Tensor) -> Tensor:
        if tf.executing_eagerly():  # a tape would take what comes out of a StopGradient for watched
            return unrecorded(lambda x: tf.identity(_tensor(x)), x)
        return tf.stop_gradient(_tensor(x))

    def like(self, x: Tensor, value: Tensor) -> Tensor | None:
        x = tf.cast(_tensor(x), value.dtype)
        if x.shape.is_fully_defined() and x.shape == value.shape:
            return x
        try:
            shape = tf.broadcast_static_shape(x.shape, value.shape)
        except ValueError:
            return None
        if value.shape.is_fully_defined() and shape != value.shape:
            return None
        return tf.broadcast_to(x, tf.shape(value))

    def graft(self, value: Tensor, carrier: Tensor, closed: str = "") -> Tensor:
        if not tf.executing_eagerly():
            return self._marked(_GRAFT, [value, carrier])[0]
        result = unrecorded(tf.identity, value)
        record("Identity", [result], [carrier], lambda g: [g], lambda t: [t])
        return result

    def without_rules(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return self._scope.suspended(_converted(function), *args, **kwargs)

    def depends(self, values: Sequence[Any]) -> bool:
        variables = [v for v in values if not isinstance(v, tf.Tensor)]
        tensors = [v for v in values if isinstance(v, tf.Tensor)]
        return (
            any(v.trainable for v in variables)
            or (bool(tensors) and any(wanted(tensors)))
            or any(map(_reaches_out, tensors))
        )

    def members(self, owner: Any) -> dict[str, Any]:
        held = super().members(owner)
        return {name: value for name, value in held.items() if self.is_float(value)}

    def with_formula(
        self, pull: FunctionPull, inputs: Sequence[Tensor], values: Sequence[Tensor], closed: str = ""
    ) -> list[Tensor]:
        count, inputs = len(values), [_tensor(x) for x in inputs]
        if not tf.executing_eagerly():
            return list(self._marked(_named(pull, count), [*values, *inputs])[:count])
        results = [unrecorded(tf.identity, value) for value in values]

        def backward(*g: Tensor) -> list[Tensor]:
            return self._scope.suspending(_pulled)(pull, count, [*results, *inputs], g)[count:]

        def forward(*tangents: Tensor) -> list[Tensor]:
            full = [tf.zeros_like(x) if t is None else t for t, x in zip(tangents, inputs, strict=True)]
            found = pull.push(inputs, results, full)
            return list(found) if isinstance(found, tuple | list) else [found]

        record(CARRIER, results, inputs, backward, forward)
        return results

    def _marked(self, name: str, tensors: Sequence[Tensor]) -> Sequence[Tensor]:
        """A node that carries these tensors and this gradient, wherever it is copied to."""
        here = self._scope.here()
        with self._scope.types_in_force({**here.types, CARRIER: name}):
            return tf.raw_ops.IdentityN(input=list(tensors))


@tf.RegisterGradient(_GRAFT)  # type: ignore[untyped-decorator]
def _grafted(_: Any, g: Tensor, *rest: Tensor) -> list[Tensor | None]:
    return [None, g]


def _pulled(pull: FunctionPull, count: int, tensors: Sequence[Tensor], g: Sequence[Tensor]) -> list[Any]:
    """The cotangents of a node that carries values and inputs."""
    values, inputs = list(tensors)[:count], list(tensors)[count:]
    upstream = [tf.zeros_like(v) if one is None else one for v, one in zip(values, g, strict=False)]
    return [*(None,) * count, *pull(inputs, values, upstream)]


def _named(pull: Any, count: int) -> str:
    """A name for the gradient of a node that carries ``count`` values before its inputs."""
    name = f"SurrogateFunction{next(_fresh)}"
    tf.RegisterGradient(name)(lambda op, *g: _pulled(pull, count, op.inputs, g))
    _PULLS[name] = pull, count
    return name


def vectorized(node: Any) -> Any:
    """The attributes of our node when a loop body around it is vectorized; None for any other node."""
    name = mark_of(node)
    if name == _GRAFT:
        return node.node_def.attr
    if name not in _PULLS:
        return None
    pull, count = _PULLS[name]

    def one(parts: Any) -> list[Tensor]:
        found = pull(*parts)
        return [tf.zeros_like(x) if c is None else c for c, x in zip(found, parts[0], strict=True)]

    def each(inputs: Sequence[Tensor], values: Sequence[Tensor], g: Sequence[Tensor]) -> Any:
        return tf.vectorized_map(one, (list(inputs), list(values), list(g)), fallback_to_while_loop=False)

    mark = AttrValue(s=_named(each, count).encode())
    return {**dict(node.node_def.attr.items()), "_gradient_op_type": mark}


def _is_keras_variable(x: Any) -> bool:
    return hasattr(x, "__tf_tensor__") and hasattr(x, "trainable") and "float" in str(getattr(x, "dtype", ""))


def _tensor(x: Any) -> Tensor:
    return x if isinstance(x, tf.Tensor) else tf.convert_to_tensor(x)


def _converted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the user's as autograph calls it, where it has converted the code around."""
    if tf.executing_eagerly() or getattr(function, "__module__", "").partition(".")[0] == "surrogate":
        return function
    autograph = tf.__internal__.autograph
    converted: Callable[..., Any] = autograph.tf_convert(function, autograph.control_status_ctx())
    return converted


# -- what a node of a graph was made of -----------------------------------------------------------------


def _reaches_out(tensor: Tensor) -> bool:
    """Whether a graph's tensor was made of a trainable variable, or of an input of the graph."""
    if not hasattr(tensor, "op") or tf.executing_eagerly():
        return False
    return any(map(_wants_gradient, _sources(tensor)))


def _sources(tensor: Tensor) -> Iterator[Tensor]:
    """The floating inputs and variables' handles that a tensor was made of, without a stop in between."""
    seen: set[int] = set()
    todo = [tensor]
    while todo:
        found = todo.pop()
        if id(found) in seen:
            continue
        seen.add(id(found))
        outer = _captured(found)
        if outer is not None:
            if hasattr(outer, "graph"):
                todo.append(outer)
            else:
                yield outer
        elif found.op.type.startswith("Placeholder"):
            yield found
        elif found.op.type not in (
            "StopGradient",
            "Shape",
            "ShapeN",
            "Size",
            "Rank",
            "ZerosLike",
            "OnesLike",
        ):
            todo.extend(x for x in found.op.inputs if x.dtype.is_floating or x.dtype == tf.resource)


def _captured(tensor: Tensor) -> Tensor | None:
    """What a function's graph has captured as this placeholder."""
    captures = getattr(tensor.graph, "captures", ())
    return next((outer for outer, inner in captures if inner is tensor), None)


def _wants_gradient(source: Tensor) -> bool:
    if source.dtype != tf.resource:
        return hasattr(source, "graph") or any(wanted([source]))
    graphs = [tf.compat.v1.get_default_graph()]
    while getattr(graphs[-1], "outer_graph", None) is not None:
        graphs.append(graphs[-1].outer_graph)
    variables = [v for graph in graphs for v in getattr(graph, "variables", ())]
    return any(v.trainable and v.handle is source for v in variables)
