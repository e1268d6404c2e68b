"""Running an op again on float twins of its booleans and integers, by its own definition."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from surrogate_tensorflow import _hooks

Tensor = Any


class Call(NamedTuple):
    """One op that has run.

    Attributes:
        type: its op type.
        inputs, outputs: its tensors.
        attribute: gives the value of an attribute by its name.
        dtype: the float dtype of the twins of its inputs.
    """

    type: str
    inputs: Sequence[Tensor]
    outputs: Sequence[Tensor]
    attribute: Callable[[str], Any]
    dtype: Any

    @property
    def output(self) -> Tensor:
        """The first output."""
        return self.outputs[0]


def data_of(call: Call) -> list[Tensor]:
    """The inputs that elements of the output come from, not those that say where these are, or how many."""
    definition = _hooks.op_definitions.native(call.type)
    data = _data_type(call, definition)
    inputs, found = iter(call.inputs), []
    for argument in definition.input_arg:
        count = _count(call, definition, argument)
        tensors = [next(inputs) for _ in range(1 if count is None else count)]
        found += tensors if argument.type_attr == data else []
    return found


def again(call: Call, as_float: Callable[[Tensor], Tensor]) -> list[Tensor]:
    """Run the op with each of its inputs of the type ``T`` as a float; the outputs."""
    definition = _hooks.op_definitions.native(call.type)
    data = _data_type(call, definition)
    inputs, given = iter(call.inputs), {}
    for argument in definition.input_arg:
        count = _count(call, definition, argument)
        tensors = [next(inputs) for _ in range(1 if count is None else count)]
        if argument.type_attr == data:
            tensors = [as_float(x) for x in tensors]
        given[_python_name(call.type, argument.name)] = tensors[0] if count is None else tensors
    inferred = {argument.number_attr for argument in definition.input_arg}
    for attribute in definition.attr:
        if attribute.type not in ("type", "list(type)") and attribute.name not in inferred:
            given[_python_name(call.type, attribute.name)] = call.attribute(attribute.name)
    found = getattr(tf.raw_ops, call.type)(**given)
    return list(found) if isinstance(found, list | tuple) else [found]


@functools.cache
def _python_name(op_type: str, name: str) -> str:
    """What ``tf.raw_ops`` calls an argument; TensorFlow calls by "axis" what its ops name in many ways."""
    names = inspect.signature(getattr(tf.raw_ops, op_type)).parameters
    return name if name in names else "axis"


def _data_type(call: Call, definition: Any) -> str:
    """The attribute that says the dtype of the output, which is that of the data it is made of."""
    return str(definition.output_arg[0].type_attr)


def _count(call: Call, definition: Any, argument: Any) -> int | None:
    """How many tensors an argument is; None for one that is no list."""
    if not argument.number_attr:
        return None
    lists = [other for other in definition.input_arg if other.number_attr]
    assert len(lists) == 1
    return len(call.inputs) - (len(definition.input_arg) - 1)
