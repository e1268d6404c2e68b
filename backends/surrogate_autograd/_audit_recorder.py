"""Recording a program that autograd runs: every primitive that sees something differentiated."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import autograd
import numpy as np
from autograd.extend import Box, VJPNode

from surrogate.auditing import Call, Nudge, Value, note_activation, nudged, span_of, user_place
from surrogate_autograd import _hooks
from surrogate_autograd._audit_names import NAMES, STRUCTURE
from surrogate_autograd._audit_questions import Probe
from surrogate_autograd._audit_values import Followed, followed, plain
from surrogate_autograd._primitive import Captured, captured

Array = Any

#: Where no line of the user's is.
OWN = tuple(str(Path(file).parent) + os.sep for file in (autograd.__file__, np.__file__, __file__))


class Recorder:
    """The calls and values of one run.

    Args:
        nudge: says at which places a value that leaves for Python comes back changed.
    """

    def __init__(self, nudge: Nudge | None = None) -> None:
        self.calls: list[Call] = []
        self.values: dict[int, Value] = {}
        self.nodes: list[tuple[Node, Call]] = []
        self.done, self._next = False, -1
        self._nudge = nudge
        self._probe = Probe()

    def new(self, x: Any) -> int:
        """The id of a new value."""
        array = np.asarray(plain(x))
        vid = self._next = self._next + 1
        self.values[vid] = Value(str(array.dtype), array.dtype.kind in "fc", array.shape, span_of(array))
        return vid

    def traced(
        self, node: Node, value: Any, function: Any, args: Any, kwargs: Any, parents: dict[int, Node]
    ) -> None:
        """A primitive that autograd differentiates ran."""
        self._forget(value)
        call = self._call(_name(function), self._inputs(args, parents), self.new(value))
        call.consts = [float(x) for x in args if isinstance(x, (int, float)) and not isinstance(x, bool)]
        _describe(call, args)
        node.vid = call.outs[0]
        if function is captured:
            _name_the_rule(call, args[0])
        else:
            call.zero_in = self._probe.zero_inputs(call, function, args, kwargs, tuple(parents))
        if call.raises:
            call.live_out = [False]
        note_activation(call, plain(value))
        self.nodes.append((node, call))

    def untraced(self, name: str, operands: Any, result: Any) -> Any:
        """A function that autograd does not differentiate ran; its arrays are followed from here on."""
        if isinstance(result, (tuple, list)):
            return type(result)(self.untraced(name, operands, one) for one in result)
        if self.done or not isinstance(result, (np.ndarray, np.generic)) or isinstance(result, Followed):
            return result
        ins = [self._id_of(one) for one in followed(operands)]
        return self._follow(name, ins, result)

    def hidden(self, function: Any, value: Any, args: Any, parents: dict[int, Node]) -> Any:
        """The same where an argument is differentiated."""
        self._forget(value)
        return self._follow(_name(function), self._inputs(args, parents), value)

    def left(self, name: str, array: Followed, value: Any) -> Any:
        """A value leaves for Python. In another run the one in question comes back changed."""
        return value if self.done else self._left(name, self._id_of(array), value)

    def taken(self, box: Any, value: Any) -> Any:
        """The program looks into a box (``getval``)."""
        node = box._node
        if self.done or not isinstance(node, Node) or node.vid is None:
            return value
        return self._left("getval", node.vid, value)

    def _left(self, name: str, vid: int, value: Any) -> Any:
        call = Call(name, name, user_place(OWN), [vid], [], [], escape=True)
        self.calls.append(call)
        return nudged(value) if self._nudge is not None and self._nudge(call.place) else value

    def _forget(self, value: Any) -> None:
        """autograd runs a function on the bare values first: an operand that is followed has told of that."""
        if isinstance(value, Followed) and self.calls and self.calls[-1].outs == [value.vid]:
            del self.values[self.calls.pop().outs[0]]

    def _follow(self, name: str, ins: Sequence[int | None], value: Any) -> Any:
        call = self._call(NAMES.get(name, name), ins, self.new(value))
        call.live_out = [False]
        array = np.asarray(plain(value)).view(Followed)
        array.follower, array.vid = self, call.outs[0]
        return array

    def _call(self, name: str, ins: Sequence[int | None], out: int) -> Call:
        call = Call(name, name, user_place(OWN), [*ins], [out], [self.values[out].inexact])
        self.calls.append(call)
        return call

    def _inputs(self, args: Sequence[Any], parents: dict[int, Node]) -> list[int | None]:
        return [
            parents[k].vid if k in parents else self._operand(x)
            for k, x in enumerate(args)
            if k in parents or isinstance(x, (np.ndarray, np.floating, float))
        ]

    def _operand(self, x: Any) -> int:
        return self._id_of(x) if isinstance(x, Followed) else self.new(x)

    def _id_of(self, array: Followed) -> int:
        """The id of an array that is followed; a view of one gets its own when it is used."""
        if array.vid is None:
            ins = [] if array.base_of is None else [self._id_of(array.base_of)]
            call = self._call("view", [*ins], self.new(array))
            call.live_out, array.vid = [False], call.outs[0]
        return array.vid


class Node(VJPNode):
    """autograd's node, which tells the recorder."""

    __slots__ = ("gradient", "hidden", "vid")

    gradient: Any  #: of a source, once the backward pass has arrived there
    hidden: Callable[[], Any] | None  #: of a function that autograd does not trace, makes its result
    vid: int | None

    recorder: Recorder | None = None

    def __init__(self, value: Any, function: Any, args: Any, kwargs: Any, argnums: Any, parents: Any) -> None:
        recorder = type(self).recorder
        assert recorder is not None
        self.parents, self.vjp, self.vid = parents, _nothing, None  # type: ignore[misc]
        by_position = dict(zip(argnums, parents, strict=True))
        self.hidden = None
        if function in _hooks.notrace_primitives[VJPNode]:
            self.hidden = lambda: recorder.hidden(function, value, args, by_position)
            return
        recorder.traced(self, value, function, args, kwargs, by_position)
        call = recorder.calls[-1]
        try:
            args = tuple(map(plain, args))
            self.vjp = _hooks.primitive_vjps[function](argnums, value, args, kwargs)
        except (KeyError, NotImplementedError) as error:
            call.raises = _reason(error, function)
            call.live_out = [False]


def root(vid: int) -> Node:
    """The node of a source."""
    node: Node = Node.__new__(Node)
    node.parents, node.vjp, node.vid, node.hidden = (), _nothing, vid, None
    return node


def _nothing(g: Any) -> tuple[()]:
    return ()


class _AllButStructure:
    """What autograd does not trace while an audit records: functions that tell only of shapes."""

    def __contains__(self, function: Any) -> bool:
        return getattr(function, "__name__", "") in STRUCTURE


@contextmanager
def recording(recorder: Recorder) -> Iterator[int]:
    """A new level of tracing whose nodes tell ``recorder``; yields its number."""
    stack: Any = _hooks.trace_stack
    tracer: Any = _hooks.TRACER
    real, top, before = tracer.new_box, stack.top, Node.recorder

    def new_box(value: Any, trace: int, node: Any) -> Any:
        hidden = getattr(node, "hidden", None)
        return real(plain(value), trace, node) if hidden is None else hidden()

    slot = Box._value
    Node.recorder = recorder
    Box._value = _told_of(recorder, slot)
    _hooks.notrace_primitives[Node] = _AllButStructure()
    tracer.new_box = new_box
    try:
        with stack.new_trace() as level:
            yield level
    finally:
        tracer.new_box, stack.top, Node.recorder, Box._value = real, top, before, slot
        if before is None:
            del _hooks.notrace_primitives[Node]


def _told_of(recorder: Recorder, slot: Any) -> property:
    """What is in a box, which tells ``recorder`` when a line of the user's asks, by way of ``getval`` too."""

    def value_of(box: Any) -> Any:
        value = slot.__get__(box)
        frame: Any = sys._getframe(1)
        while frame.f_code is _hooks.getval.__code__:
            frame = frame.f_back
        return value if frame.f_code.co_filename.startswith(OWN) else recorder.taken(box, value)

    return property(value_of, slot.__set__)


def _name(function: Any) -> str:
    name = getattr(function, "__name__", str(function))
    return NAMES.get(name, name)


def _describe(call: Call, args: Sequence[Any]) -> None:
    """Bounds of a clip; a maximum with a number is one."""
    numbers = [float(x) if isinstance(x, (int, float)) else None for x in args]
    if call.name == "clip":
        low, high, *_ = [*numbers[1:], None, None]
        call.bounds = low, high
    elif call.name in ("maximum", "minimum") and call.consts:
        call.name = "clamp_min" if call.name == "maximum" else "clamp_max"
        bound = call.consts[0]
        call.bounds = (bound, None) if call.name == "clamp_min" else (None, bound)


def _name_the_rule(call: Call, how: Captured) -> None:
    name = _name(how.native)
    call.name, call.raw, call.rule = name, name, how.rule.id


def _reason(error: Exception, function: Any) -> str:
    if isinstance(error, KeyError):
        return f"VJP of {getattr(function, '__name__', function)} not defined"
    return str(error)
