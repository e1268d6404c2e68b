"""Functions of TensorFlow and Keras that are made of several ops.

Some of them *are* one op of ours (``tf.clip_by_value`` is ``clip``, ``keras.ops.trunc`` is ``trunc``): they
get one gradient as a unit. All others keep their native gradient as a unit: a straight-through ``floor``
must not change ``keras.ops.quantile``.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from surrogate_tensorflow import _eager, _native
from surrogate_tensorflow._carrier import carry
from surrogate_tensorflow._indexing import Indexing
from surrogate_tensorflow._learned import inputs_of
from surrogate_tensorflow._recording import unrecorded, wanted
from surrogate_tensorflow._scope import Situation
from surrogate_tensorflow._spellings import CARRIER
from surrogate_tensorflow._swap import Swap, exists, find
from surrogate_tensorflow._whose import NOT_FLOATING, NOT_RECORDED

if TYPE_CHECKING:
    from surrogate_tensorflow._backend import TensorFlowBackend

Tensor = Any
_TNP = "tensorflow.python.ops.numpy_ops"
_KERAS = "keras.src.backend.tensorflow.numpy"

#: module, function, the op that it is, and its arguments that are the op's inputs, in the op's order.
_OURS = (
    ("tensorflow.python.ops.clip_ops", "clip_by_value", "clip", ("t", "clip_value_min", "clip_value_max")),
    (f"{_TNP}.np_math_ops", "clip", "clip", ("a", "a_min", "a_max")),
    (f"{_TNP}.np_math_ops", "fix", "trunc", ("x",)),
    (f"{_TNP}.np_math_ops", "heaviside", "heaviside", ("x1", "x2")),
    (f"{_TNP}.np_math_ops", "maximum", "maximum", ("x1", "x2")),
    (f"{_TNP}.np_math_ops", "minimum", "minimum", ("x1", "x2")),
    (f"{_TNP}.np_array_ops", "around", "round", ("a",)),
    (_KERAS, "trunc", "trunc", ("x",)),
    (_KERAS, "heaviside", "heaviside", ("x1", "x2")),
    (_KERAS, "fmod", "fmod", ("x1", "x2")),
    (_KERAS, "round", "round", ("x",)),
)
#: Where an argument may be None, what that stands for.
_OPEN = {"a_min": -math.inf, "a_max": math.inf}

_swaps: list[Swap] = []


def install(backend: TensorFlowBackend) -> None:
    """Find the functions. Those that this version of TensorFlow or Keras does not have are left out.

    Raises:
        IncompatibleFrameworkError: one that is an op of ours is there but cannot be exchanged.
    """
    unit = Unit(backend)
    ours: list[tuple[str, str, Callable[..., Any]]] = [
        (module, name, unit.of(op, find(module, name), operands))
        for module, name, op, operands in _OURS
        if exists(module, name)
    ]
    native = [(module, name, unit.native) for module, names in _native.FUNCTIONS for name in names]
    there = [place for place in native if exists(*place[:2])]
    indexing = Indexing(backend).handlers()
    _swaps[:] = [Swap(*place) for place in (*ours, *indexing, *there)]


def switch(on: bool) -> None:
    """Put the handlers in, or take them out."""
    for swap in _swaps:
        swap.switch(on)


class Unit:
    """Runs a composite as one op."""

    def __init__(self, backend: TensorFlowBackend) -> None:
        self._backend = backend

    def native(self, native: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """A composite whose parts are not the user's: no rule reaches them."""
        scope = self._backend.scope
        if scope.is_suspended:
            return native(*args, **kwargs)
        here = scope.here()
        if here.types:
            return scope.run(Situation(scope.nothing.state, here.types), native, *args, **kwargs)
        return scope.suspended(native, *args, **kwargs)

    def of(self, op: str, function: Callable[..., Any], operands: Sequence[str]) -> Callable[..., Any]:
        """The handler of a function, ``operands`` of whose arguments are the op's inputs, in that order."""
        signature = inspect.signature(function)

        def handler(native: Callable[..., Any], *args: Any, **named: Any) -> Any:
            try:
                arguments = signature.bind(*args, **named).arguments
            except TypeError:
                return native(*args, **named)  # it says what is wrong
            x = arguments[operands[0]]
            if isinstance(x, tf.IndexedSlices):
                sparse = {**arguments, operands[0]: x.values}
                return tf.IndexedSlices(handler(native, **sparse), x.indices, x.dense_shape)
            inputs = [_OPEN.get(name) if (x := arguments[name]) is None else x for name in operands]
            decimals = int(arguments.get("decimals", 0))
            return self._run(op, inputs, lambda: native(*args, **named), decimals)

        return handler

    def _run(
        self, op: str, operands: Sequence[Any], native: Callable[[], Tensor], decimals: int = 0
    ) -> Tensor:
        """The native value, with the rule of ``op`` from the operands to it."""
        here = self._backend.scope.here()
        gradient = here.state.rule(op)
        if gradient is None:
            return self.native(native)
        eager = tf.executing_eagerly()
        value = self._backend.scope.suspended(unrecorded, native)
        if not (tf.is_tensor(value) and value.dtype.is_floating):
            here.state.missed(op, NOT_FLOATING)
            return self.native(native)
        inputs = [_as_operand(x, value.dtype) for x in operands]
        rule = gradient.at(decimals=decimals) if decimals else gradient.rule
        inputs = inputs_of(rule, inputs)
        if not eager:
            needs = tuple(not isinstance(x, int | float) for x in (*operands, *rule.learned))
            return carry(self._backend, value, inputs, op, rule, here, needs)
        needs = wanted(inputs)
        if any(needs):
            _eager.attach(self._backend, op, here.state, rule, CARRIER, inputs, [value], needs)
        else:
            here.state.missed(op, NOT_RECORDED)
        return value


def _as_operand(x: Any, dtype: Any) -> Tensor:
    return tf.cast(tf.convert_to_tensor(x), dtype) if hasattr(x, "dtype") else tf.convert_to_tensor(x, dtype)
