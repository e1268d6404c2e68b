"""Every op that runs eagerly, as a call of the trace; and every variable as it was before it was written."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

import surrogate
from surrogate.auditing import Call, Nudge, Span, Value, nudged, span_of, user_place
from surrogate_tensorflow import _hooks
from surrogate_tensorflow._audit_names import canonical

Tensor = Any

#: Ops on a variable that leave it as it is.
_READS = frozenset({"ReadVariableOp", "ResourceGather", "VarIsInitializedOp", "VariableShape"})


def _folder(module: Any) -> str:
    return str(Path(module.__file__).parent) + os.sep


def framework_files() -> tuple[str, ...]:
    """Beginnings of the names of files whose lines are not the user's."""
    keras = [_folder(sys.modules["keras"])] if "keras" in sys.modules else []
    return (_folder(tf), _folder(np), _folder(sys.modules[__name__]), *keras)


class Given(NamedTuple):
    """What an op was called with, for questions to its gradient."""

    op_type: str
    inputs: Sequence[Tensor]
    attributes: tuple[Any, ...]
    outputs: Sequence[Tensor]


def is_float(x: Tensor) -> bool:
    """Whether a tensor is float or complex."""
    return bool(x.dtype.is_floating or x.dtype.is_complex)


class Recorder:
    """Makes the calls and values of a trace from what op callbacks tell.

    Args:
        nudge: which values that leave are to be changed; None for none.

    Attributes:
        held: id -> tensor; kept alive, so that no other tensor gets its Python id.
        given: number of the call -> what its op was called with.
        pullbacks: number of the call -> the backward function of a custom gradient.
        escapes: calls by which a value left.
        before: resource handles and the values that their variables had before they were first written.
        frozen: Python ids of the variables in Keras variables that are not trainable.
        random: whether an op ran that draws random numbers from a state of the process.
        paused: above zero while nothing is to be recorded.
    """

    def __init__(self, nudge: Nudge | None = None) -> None:
        self.calls: list[Call] = []
        self.values: dict[int, Value] = {}
        self.held: dict[int, Tensor] = {}
        self.given: dict[int, Given] = {}
        self.pullbacks: dict[int, Any] = {}
        self.escapes: list[Call] = []
        self.before: dict[int, tuple[Tensor, Tensor]] = {}
        self.frozen: set[int] = set()
        self.random = False
        self.paused = 0
        self._nudge = nudge
        self._ids: dict[int, int] = {}
        self._files = framework_files()
        self._thread = threading.get_ident()

    @property
    def silent(self) -> bool:
        """Whether what runs now is not to be recorded; other threads are not."""
        return self.paused > 0 or threading.get_ident() != self._thread

    def place(self) -> Any:
        """The user's line that runs now."""
        return user_place(self._files)

    def vid(self, x: Tensor, *, new: bool = False) -> int:
        """The id of a tensor."""
        key = id(x)
        if new or key not in self._ids:
            vid = self._ids[key] = len(self.values)
            self.held[vid] = x
            resource = x.dtype == tf.resource
            shape = () if resource or x.shape.rank is None else tuple(x.shape)
            self.values[vid] = Value(x.dtype.name, resource or is_float(x), shape, self.span(x))
        return self._ids[key]

    def known(self, x: Tensor) -> int | None:
        """The id of a tensor that was met."""
        return self._ids.get(id(x))

    def span(self, x: Tensor) -> Span | None:
        """What a tensor holds."""
        return span_of(_hooks.raw_numpy(x)) if is_float(x) else None

    # -- calls -----------------------------------------------------------------------------------

    def callback(
        self, op_type: Any, inputs: Any, attributes: Any, outputs: Any, op_name: Any = None, graph: Any = None
    ) -> None:
        """An op has run."""
        if self.silent or graph is not None:
            return
        name = op_type.decode() if isinstance(op_type, bytes) else op_type
        given = Given(name, list(inputs), tuple(attributes or ()), list(outputs))
        self.given[len(self.calls)] = given
        self.random = self.random or "seed2" in given.attributes
        ins: list[int | None] = [self.vid(x) for x in inputs if _is_eager(x)]
        outs = [self.vid(x, new=True) for x in outputs if _is_eager(x)]
        call = Call(canonical(name), name, self.place(), ins, outs, [True] * len(outs))
        _note_numbers(call, given)
        if call.name == "stop_gradient":
            call.live_out, call.why = [False], "stop_gradient"
        elif outs and _hooks.tape_is_empty.native():
            call.live_out, call.why = [False] * len(outs), "no_grad"
        self.calls.append(call)

    def as_one(
        self, name: str, inputs: Sequence[Any], outputs: Sequence[Any], pullback: Any = None, why: str = ""
    ) -> Call:
        """A function with a derivative of its own, or none, whose outputs are there already."""
        ins: list[int | None] = [self.vid(x) for x in inputs if _is_eager(x)]
        outs = [self.vid(x, new=True) for x in outputs if _is_eager(x)]
        call = Call(name, name, self.place(), ins, outs, [not why] * len(outs), why=why)
        if pullback is not None:
            self.pullbacks[len(self.calls)] = pullback
        self.calls.append(call)
        return call

    def captured(self, rule: surrogate.Rule, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """An op obeys a rule: what it was made of is not what its gradient is of."""
        if not self.silent:
            self.as_one(rule.id.partition(":")[0], inputs, outputs).rule = rule.id

    def leaves(self, name: str, x: Tensor, value: Any) -> Any:
        """A value leaves for Python; returns what Python is to see."""
        call = Call(name, name, self.place(), [self.vid(x)], [], [], escape=True)
        self.calls.append(call)
        self.escapes.append(call)
        return nudged(value) if self._nudge is not None and self._nudge(call.place) else value

    def about_to_write(self, op_type: str, inputs: Sequence[Any]) -> None:
        """Keep the value of every variable that an op may write to."""
        if self.silent or op_type in (
            "ReadVariableOp",
            "VarIsInitializedOp",
            "ResourceGather",
            "VariableShape",
        ):
            return
        for x in inputs:
            if _is_eager(x) and x.dtype == tf.resource and id(x) not in self.before:
                self.paused += 1
                try:
                    value = _hooks.read_variable(x)
                finally:
                    self.paused -= 1
                if value is not None:
                    self.before[id(x)] = x, value

    def forget(self) -> None:
        """Drop what was recorded until now."""
        for kept in (self.calls, self.escapes):
            kept.clear()
        for by_id in (self.values, self.held, self.given, self.pullbacks, self._ids):
            by_id.clear()

    def put_back(self) -> None:
        """Give every variable the value that it had."""
        self.paused += 1
        try:
            for handle, value in self.before.values():
                tf.raw_ops.AssignVariableOp(resource=handle, value=value)
        finally:
            self.paused -= 1


def _is_eager(x: Any) -> bool:
    return isinstance(x, _hooks.eager_tensor.native)


def _number(x: Tensor) -> float | None:
    return float(_hooks.raw_numpy(x)) if x.shape.rank == 0 and x.dtype.is_floating else None


def _note_numbers(call: Call, given: Given) -> None:
    """Python numbers among the arguments arrive as constants."""
    if call.name == "clip":
        call.bounds = _number(given.inputs[1]), _number(given.inputs[2])
    elif call.name in ("maximum", "minimum", "pow", "add", "sub", "div") and len(given.inputs) > 1:
        number = _number(given.inputs[1])
        call.consts = [] if number is None else [number]
    elif given.op_type == "Cast":
        number = _number(given.inputs[0])
        call.consts = [] if number is None else [number]
