"""The audit's recorder for autograd: a program once forward and once backward, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import autograd.numpy as anp
import numpy as np

from surrogate import SpecError
from surrogate.auditing import (
    Nudge,
    Size,
    Trace,
    Wanted,
    came_back,
    nudged,
    same_random_state,
    span_of,
    untracked,
)
from surrogate_autograd import _hooks
from surrogate_autograd._audit_recorder import Node, Recorder, recording, root
from surrogate_autograd._audit_sources import leaves, mapped, named
from surrogate_autograd._audit_values import Followed

Array = Any
Function = Callable[..., Any]


class Audited:
    """A program with its arguments, ready to run as often as the audit asks."""

    def __init__(
        self, fn: Function, args: Sequence[Any], loss: Function | None, wrt: Any, argnums: int | Sequence[int]
    ) -> None:
        self.fn, self.args, self.loss, self.wanted = fn, args, loss, Wanted(wrt)
        self.prefixes = named(argnums, args, self.wanted)
        self.wanted.must_have(name for k in self.prefixes for name, _ in leaves(args[k], self.prefixes[k]))

    def trace(self) -> Trace:
        """Forward, backward, and what left for Python."""
        with same_random_state() as restore:

            def again(nudge: Nudge | None) -> float:
                restore()
                return self._loss_of(self._forward(nudge)[0])

            def changed(names: frozenset[str], factor: float) -> Trace:
                restore()
                return self._forward(None, names, factor)[0]

            trace, end, recorder = self._forward(None)
            _backward(trace, end, recorder)
            self._measure(trace)
            came_back(trace, self._loss_of(trace), again)
            untracked(trace, changed)
            return trace

    def _forward(
        self, nudge: Nudge | None, changed: frozenset[str] = frozenset(), factor: float = 1.0
    ) -> tuple[Trace, Node | None, Recorder]:
        recorder = Recorder(nudge)
        self.roots: dict[str, tuple[Node, Array]] = {}
        trace = Trace("autograd", recorder.calls, recorder.values, {}, None)
        try:
            with recording(recorder) as level:
                args = [self._boxed(k, x, level, recorder, changed, factor) for k, x in enumerate(self.args)]
                trace.sources.update((node.vid or 0, name) for name, (node, _) in self.roots.items())
                out = self.fn(*args)
                out = _scalar(out if self.loss is None else self.loss(out))
        except Exception as error:
            error.surrogate_trace = trace  # type: ignore[attr-defined]
            raise
        finally:
            recorder.done = True
        trace.loss, end = _id(out, recorder)
        return trace, end, recorder

    def _boxed(
        self, k: int, arg: Any, level: int, recorder: Recorder, changed: frozenset[str], factor: float
    ) -> Any:
        """An argument with its leaves as autograd's boxes, if it is differentiated."""
        if k not in self.prefixes:
            return arg

        def box(own: str, x: Array) -> Any:
            name = self.wanted.name(own, x)
            if name is None:
                return x
            value = nudged(x) * factor if name in changed else x
            node = root(recorder.new(value))
            self.roots[name] = node, x
            return _hooks.new_box(value, level, node)

        return mapped(arg, box, self.prefixes[k])

    @staticmethod
    def _loss_of(trace: Trace) -> float:
        span = None if trace.loss is None else trace.values[trace.loss].span
        return float("nan") if span is None or span.bad else span.lo

    def _measure(self, trace: Trace) -> None:
        """Norms of the sources' gradients; none at all where the backward pass raises."""
        raises = any(call.raises for call in trace.calls)
        for name, (node, x) in self.roots.items():
            gradient = getattr(node, "gradient", None)
            trace.grads[name] = None if raises or gradient is None else _size(gradient, x)


def _size(gradient: Array, x: Array) -> Size:
    found = np.asarray(gradient)
    norms = float(np.linalg.norm(found)), float(np.linalg.norm(np.asarray(x)))
    return Size(*norms, zero=not found.any(), finite=bool(np.isfinite(found).all()))


def _scalar(out: Any) -> Any:
    """The loss: the output if it is one number, else a fixed random projection of its float arrays.

    A plain sum of a softmax, or of a normalisation, has no gradient.
    """
    if out is not None and not isinstance(out, (Mapping, list, tuple)) and np.size(_hooks.getval(out)) == 1:
        return out
    outputs = _outputs(out)
    if not outputs:
        raise SpecError("the program returns no array: there is nothing to audit.")
    draw, total = np.random.RandomState(0), 0.0
    for one in outputs:
        total = total + anp.sum(one * draw.randn(*np.shape(_hooks.getval(one))))
    return total


def _outputs(out: Any) -> list[Any]:
    if isinstance(out, Mapping):
        return [one for value in out.values() for one in _outputs(value)]
    if isinstance(out, (list, tuple)):
        return [one for value in out for one in _outputs(value)]
    return [out] if any(True for _ in leaves(_hooks.getval(out))) else []


def _id(out: Any, recorder: Recorder) -> tuple[int, Node | None]:
    """Id of the loss, and its node if a gradient can begin there."""
    if _hooks.isbox(out):
        node = _hooks.opened(out)[2]
        return node.vid, node
    if isinstance(out, Followed) and out.vid is not None:
        return out.vid, None
    return recorder.new(out), None


def _backward(trace: Trace, end: Node | None, recorder: Recorder) -> None:
    """Pull the gradient of the loss back, noting every cotangent. Sources keep theirs."""
    if end is None or any(call.raises for _, call in recorder.nodes):
        return
    calls = dict(recorder.nodes)
    found: dict[Any, Any] = {end: (np.ones(trace.values[end.vid or 0].shape), False)}
    for node in _hooks.toposort(end):
        gradient = found.pop(node)[0]
        if node not in calls:
            node.gradient = gradient
            continue
        cotangents = list(node.vjp(gradient))
        call = calls[node]
        call.g_out = span_of(gradient)
        by_id = {parent.vid: span_of(c) for parent, c in zip(node.parents, cotangents, strict=True)}
        call.g_in = [by_id.get(i) for i in call.ins]
        for parent, cotangent in zip(node.parents, cotangents, strict=True):
            found[parent] = _hooks.add_outgrads(found.get(parent), cotangent)
