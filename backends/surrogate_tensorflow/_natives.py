"""TensorFlow's own ops by op type: the machinery of ``gradient_override_map``, with formulas."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from surrogate import NativeCall, NativeGradient, NativeKit, UnknownOpError, UnsupportedOpError, Values
from surrogate_tensorflow import _called, _hooks, _met, _types
from surrogate_tensorflow._pack import EVERY, FUNCTIONS, PACK

if TYPE_CHECKING:
    from surrogate_tensorflow._backend import TensorFlowBackend
    from surrogate_tensorflow._scope import Situation

Tensor = Any

#: Public functions, by their last name, whose op type has another name.
ENDS: dict[str, tuple[str, ...]] = {
    "avg_pool2d": ("AvgPool",),
    "batch_normalization": ("Rsqrt", "Mul"),
    "conv2d_transpose": ("Conv2DBackpropInput",),
    "gather": ("GatherV2",),
    "matmul": ("MatMul", "BatchMatMulV2"),
    "max_pool2d": ("MaxPool",),
    "reduce_max": ("Max",),
    "reduce_mean": ("Mean",),
    "reduce_min": ("Min",),
    "reduce_sum": ("Sum",),
    "sort": ("TopKV2",),
    "top_k": ("TopKV2",),
}
#: Op types that run functions, or hold state: what is inside of them has op types of its own.
_RUNNING = frozenset(
    (
        *("Case", "For", "If", "MapDefun", "PartitionedCall", "RemoteCall", "StatefulPartitionedCall"),
        *("StatelessCase", "StatelessIf", "StatelessWhile", "SymbolicGradient", "While", "XlaLaunch"),
    )
)
#: gradient's digest -> the name that it is registered under.
_registered: dict[str, NativeGradient] = {}
_PREFIX = "SurrogateNative_"


class Natives(NativeKit):
    """Native names are op types, as in ``tf.raw_ops``."""

    def __init__(self) -> None:
        self.ship("tensorflow", {**PACK, **FUNCTIONS}, EVERY)

    def canonical(self, name: str) -> str:
        known = [one for one in dir(tf.raw_ops) if not one.startswith("_")]
        if name not in known:
            near = self.suggest(name, known)
            raise UnknownOpError(
                f"TensorFlow has no op type {name!r}{near} Native names are op types, as in tf.raw_ops."
            )
        if name in _RUNNING:
            raise UnsupportedOpError(
                f"the op type {name!r} cannot be overridden: it runs other functions; name the ops inside."
            )
        if not _gives_floats(name):
            raise UnsupportedOpError(
                f"the op type {name!r} cannot be overridden: its results are integers or booleans, which "
                "carry no gradient."
            )
        return name

    def ends_in(self, path: str) -> tuple[str, ...]:
        root, _, last = path.rpartition(".")
        if root.partition(".")[0] not in ("tf", "tensorflow"):
            return ()
        if last in ENDS:
            return ENDS[last]
        wanted = last.replace("_", "").lower()
        return tuple(one for one in dir(tf.raw_ops) if one.lower() == wanted)

    def prepare(self, gradient: NativeGradient) -> None:
        from surrogate_tensorflow._discrete import look_at  # it asks formulas

        _types.watched.add(gradient.key)
        look_at(gradient.key)
        _name_of(gradient)


def named(here: Situation, op_type: str) -> str | None:
    """The name of the registered gradient that a call of this op type obeys here, None for its own."""
    name = here.types.get(op_type)
    if name is not None or op_type not in here.state.rules:
        return name
    gradient: Any = here.state.rule(op_type)
    return None if gradient is None else _name_of(gradient)


def count(here: Situation, op_type: str, graph: Any = None) -> None:
    """Count a capture, of a rule of the core's or of ``gradient_override_map``; a graph tells it again."""
    if op_type in here.types:
        _met.captured(op_type, here.types[op_type], kept=graph is not None)
    elif op_type in here.state.rules:
        here.state.captured(op_type, kept=False)
        if graph is not None:
            _called.note(graph, here.state, op_type)


def forward_of(backend: TensorFlowBackend, name: str, node: Any) -> Callable[..., list[Tensor]] | None:
    """The tangents of a node's outputs under a formula; None for a classic gradient function."""
    gradient = _registered.get(name)
    if gradient is None:
        return None

    def forward(*tangents: Tensor) -> list[Tensor]:
        full = [tf.zeros_like(x) if t is None else t for t, x in zip(tangents, node.inputs, strict=True)]
        return _tangents(gradient, _call(gradient, node), full)

    return backend.scope.suspending(forward)


def _tangents(gradient: NativeGradient, call: NativeCall, tangents: Sequence[Tensor]) -> list[Tensor]:
    found = gradient.formula.tangent(call, tuple(tangents), gradient.params)
    given = iter(found if isinstance(found, tuple | list) else (found,))
    return [next(given) if y.dtype.is_floating else tf.zeros_like(y) for y in call.outputs]


def without_forward_mode(name: str) -> str:
    """The formula of this registered name that has none; empty for any other name."""
    gradient = _registered.get(name)
    return gradient.id if gradient is not None and gradient.formula.jvp is None else ""


def _name_of(gradient: NativeGradient) -> str:
    name = _PREFIX + gradient.digest
    if name not in _registered:
        _registered[name] = gradient
        tf.RegisterGradient(name)(lambda node, *g: _cotangents(gradient, node, g))
    return name


def _cotangents(gradient: NativeGradient, node: Any, upstream: Sequence[Tensor]) -> list[Tensor | None]:
    call = _call(gradient, node)
    found = _checked(gradient, call, upstream)
    return [c if x.dtype.is_floating else None for c, x in zip(found, call.inputs, strict=True)]


def _checked(
    gradient: NativeGradient, call: NativeCall, upstream: Sequence[Tensor]
) -> Sequence[Tensor | None]:
    """A cotangent for each input."""
    formula = gradient.formula
    both = [(g, y) for g, y in zip(upstream, call.outputs, strict=True) if y.dtype.is_floating]
    given = [tf.zeros_like(y) if g is None else g for g, y in both]
    found = formula.cotangents(call, given[0] if len(given) == 1 else tuple(given), gradient.params)
    for cotangent, x, name in zip(found, call.inputs, call.inputs.names, strict=True):
        if cotangent is not None and cotangent.shape.is_fully_defined() and x.shape.is_fully_defined():
            dtype = x.dtype if x.dtype.is_floating else cotangent.dtype
            formula.check(cotangent, name, cotangent.shape, x.shape, cotangent.dtype, dtype)
    return found


class OfIntegers:
    """A formula asked about those inputs of an op that are integers or booleans with an origin.

    Args:
        gradient: the formula.
        node: the op.
        inputs, outputs: its tensors.
        at: the positions of those inputs.
    """

    def __init__(
        self,
        gradient: NativeGradient,
        node: Any,
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor],
        at: Sequence[int],
    ) -> None:
        self._gradient, self._at = gradient, tuple(at)
        wanted = [i in at for i in range(len(inputs))]
        self._call = _call(gradient, node, inputs, outputs, wanted)

    def pull(self, g: Tensor) -> list[Tensor | None]:
        """Their cotangents, in the dtype of the output."""
        found = _checked(self._gradient, self._call, [g])
        return [None if found[i] is None else tf.cast(found[i], g.dtype) for i in self._at]

    def push(self, *tangents: Tensor) -> list[Tensor]:
        """The tangent of the output, from theirs."""
        full: list[Any] = [tf.zeros_like(x) if x.dtype.is_floating else None for x in self._call.inputs]
        for i, tangent in zip(self._at, tangents, strict=True):
            full[i] = tangent
        return _tangents(self._gradient, self._call, full)


def _call(
    gradient: NativeGradient,
    node: Any,
    inputs: Sequence[Tensor] | None = None,
    outputs: Sequence[Tensor] | None = None,
    wanted: Sequence[bool] | None = None,
) -> NativeCall:
    definition = _hooks.op_definition.native(gradient.key)
    inputs = list(node.inputs if inputs is None else inputs)
    outputs = list(node.outputs if outputs is None else outputs)

    def native(g: Any) -> Any:
        given = iter(g if isinstance(g, tuple | list) else (g,))
        full = [next(given) if y.dtype.is_floating else None for y in outputs]
        found = _hooks.gradient_registry.native.lookup(gradient.key)(node, *full)
        found = found if isinstance(found, list | tuple) else [found]
        found = [None if c is None else tf.convert_to_tensor(c) for c in found]  # of rows that were looked up
        return found[0] if len(found) == 1 else found

    return NativeCall(
        Values(inputs, _argument_names(definition.input_arg, len(inputs))),
        Values(outputs, _argument_names(definition.output_arg, len(outputs))),
        _Attributes(node, [attribute.name for attribute in definition.attr]),
        native,
        transposed=partial(_transposed, [y for y in outputs if y.dtype.is_floating]),
        wanted=[x.dtype.is_floating for x in inputs] if wanted is None else wanted,
    )


def _transposed(
    outputs: Sequence[Tensor], pull: Callable[[Any], Sequence[Any]], tangents: Sequence[Any]
) -> list[Tensor]:
    """The tangents of the outputs, from cotangents that are linear in the upstream gradient.

    In a graph: while an accumulator asks for tangents, no tape records.
    """

    def run() -> list[Tensor]:
        upstream = [tf.zeros_like(y) for y in outputs]
        found = pull(upstream[0] if len(upstream) == 1 else tuple(upstream))
        pairs = [(c, t) for c, t in zip(found, tangents, strict=True) if c is not None and t is not None]
        total = [tf.reduce_sum(c * t) for c, t in pairs if t.dtype.is_floating]
        return list(tf.gradients(total, upstream, unconnected_gradients="zero"))

    if not tf.executing_eagerly():
        return run()
    return list(tf.function(run, autograph=False).get_concrete_function()())


def _argument_names(arguments: Any, count: int) -> list[str]:
    names = [argument.name for argument in arguments]
    if len(names) == count:
        return names
    first = names[: next((i for i, a in enumerate(arguments) if a.number_attr or a.type_list_attr), 0)]
    return first + [f"{names[len(first)]}[{i}]" for i in range(count - len(first))]


class _Attributes(Mapping[str, Any]):
    """The attributes of a node, by name."""

    def __init__(self, node: Any, names: Sequence[str]) -> None:
        self._node, self._names = node, names

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(f"no attribute {name!r}; there are: {', '.join(self._names)}")
        value = self._node.get_attr(name)
        return value.decode() if isinstance(value, bytes) else value

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _gives_floats(op_type: str) -> bool:
    definition = _hooks.op_definition.native(op_type)
    taken = {a.type_attr for a in definition.input_arg if a.type_attr}
    return any(
        tf.as_dtype(a.type).is_floating if a.type else not a.type_attr or a.type_attr in taken
        for a in definition.output_arg
    )
