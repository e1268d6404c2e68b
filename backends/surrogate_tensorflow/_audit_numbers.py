"""What the ops' own gradients and one backward pass tell about a program that was recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from surrogate.auditing import HEAVY, SINGULAR, Size, Trace, note_activation
from surrogate_tensorflow import _hooks
from surrogate_tensorflow._audit_questions import ask, pull
from surrogate_tensorflow._audit_recorder import Recorder, is_float
from surrogate_tensorflow._audit_sources import Source

if TYPE_CHECKING:
    from surrogate.auditing import Call
    from surrogate_tensorflow._audit import Run
    from surrogate_tensorflow._backend import TensorFlowBackend

Tensor = Any


def loss_of(x: Tensor) -> float:
    """A loss as a number."""
    return float(_hooks.raw_numpy(x).real)


def judged(trace: Trace, run: Run, sources: Sequence[Source], backend: TensorFlowBackend) -> None:
    """Add zero derivatives, cotangents, sizes of gradients, shares of activations; unrecorded."""
    recorder = run.recorder
    recorder.paused += 1
    try:
        backend.scope.suspended(_ask_all, trace, recorder)
        _backward(trace, run, sources, backend)
    finally:
        recorder.paused -= 1
    for call in trace.calls:
        if call.outs and is_float(recorder.held[call.outs[0]]) and not call.rule:
            note_activation(call, _hooks.raw_numpy(recorder.held[call.outs[0]]))


def _ask_all(trace: Trace, recorder: Recorder) -> None:
    live = set(trace.sources)
    for number, call in enumerate(trace.calls):
        if not call.outs or live.isdisjoint(call.ins):
            continue
        if number in recorder.given and any(call.live_out):
            answer = ask(call.name, recorder.given[number])
            call.zero_in, call.raises = answer.zero, answer.raises
            if answer.why:
                call.live_out = [False] * len(call.outs)
                call.why = answer.why if trace.values[call.outs[0]].inexact else ""
        elif number in recorder.pullbacks:
            call.zero_in = _silent(call, recorder, recorder.pullbacks[number])
        ok = [
            live_out and trace.values[i].inexact for i, live_out in zip(call.outs, call.live_out, strict=True)
        ]
        call.live_out = ok
        if not call.raises and any(i in live and k not in call.zero_in for k, i in enumerate(call.ins)):
            live.update(i for i, alive in zip(call.outs, call.live_out, strict=True) if alive)


def _silent(call: Call, recorder: Recorder, pullback: Any) -> frozenset[int]:
    """Inputs to which a custom gradient gives nothing, or zeros, for a random cotangent."""
    draws = np.random.RandomState(7)
    outs = [recorder.held[i] for i in call.outs]
    cotangents = [
        tf.cast(tf.constant(draws.standard_normal(tuple(y.shape))), y.dtype)
        if is_float(y)
        else tf.zeros_like(y)
        for y in outs
    ]
    try:
        back = tf.nest.flatten(pullback(*cotangents))
    except Exception:  # its own error; the backward pass will meet it
        return frozenset()
    given = [k for k, i in enumerate(call.ins) if i is not None]
    return frozenset(k for k, c in zip(given, back, strict=False) if c is None or not _array(c).any())


def _backward(trace: Trace, run: Run, sources: Sequence[Source], backend: TensorFlowBackend) -> None:
    """Cotangents of every value that carries a gradient, from one call of the tape."""
    recorder = run.recorder
    live = _live(trace)
    inner = [
        i
        for i in live
        if i not in trace.sources and is_float(recorder.held[i]) and recorder.held[i].dtype != tf.resource
    ]
    asked = [source.tensor for source in sources] + [recorder.held[i] for i in inner]
    try:
        found = run.tape.gradient(run.loss, asked)
    except (LookupError, ValueError, TypeError, NotImplementedError):
        if not any(call.raises for call in trace.calls):  # else the op that raises is the finding
            raise
        found = [None] * len(asked)
    for source, gradient in zip(sources, found, strict=False):
        trace.grads[source.name] = None if gradient is None else _size(gradient, source.tensor)
    arrived = {i: g for i, g in zip(inner, found[len(sources) :], strict=True) if g is not None}
    backend.scope.suspended(_note_cotangents, trace, recorder, live, arrived)


def _live(trace: Trace) -> set[int]:
    live = set(trace.sources)
    for call in trace.calls:
        if not call.raises and any(i in live and k not in call.zero_in for k, i in enumerate(call.ins)):
            live.update(i for i, alive in zip(call.outs, call.live_out, strict=True) if alive)
    return live


def _note_cotangents(trace: Trace, recorder: Recorder, live: set[int], arrived: Mapping[int, Tensor]) -> None:
    """By op what came in, and where its derivative may be infinite what went on."""
    sound: dict[int, bool] = {}
    for number, call in enumerate(trace.calls):
        first = next((arrived[i] for i in call.outs if i in arrived), None)
        if first is None or not live.intersection(call.ins):
            continue
        suspicious = any(not _is_finite(i, arrived, sound) for i in call.ins if i in arrived)
        if call.name in HEAVY | SINGULAR or suspicious:
            call.g_out = recorder.span(_dense(first))
        if number in recorder.given and (call.name in SINGULAR or suspicious):
            call.g_in = _passed_on(call, recorder, number, live, arrived)


def _is_finite(i: int | None, arrived: Mapping[int, Tensor], known: dict[int, bool]) -> bool:
    if i is None:
        return True
    if i not in known:
        known[i] = bool(np.isfinite(_array(arrived[i])).all())
    return known[i]


def _passed_on(
    call: Call, recorder: Recorder, number: int, live: set[int], arrived: Mapping[int, Tensor]
) -> list[Any]:
    given = recorder.given[number]
    outs = [_dense(arrived[i]) if i in arrived else tf.zeros_like(recorder.held[i]) for i in call.outs]
    try:
        back = pull(given, outs)
    except (LookupError, ValueError, TypeError, tf.errors.OpError):
        return []
    return [
        recorder.span(_dense(g)) if g is not None and recorder.known(x) in live else None
        for x, g in zip(given.inputs, back, strict=False)
    ]


def _dense(x: Tensor) -> Tensor:
    return tf.convert_to_tensor(x)


def _array(x: Tensor) -> Any:
    array = _hooks.raw_numpy(_dense(x))
    return array.astype(np.float32) if array.dtype.kind == "V" or array.dtype.name == "bfloat16" else array


def _size(gradient: Tensor, value: Tensor) -> Size:
    g, v = _array(gradient), _array(tf.convert_to_tensor(value))
    norms = float(np.linalg.norm(g)), float(np.linalg.norm(v))
    return Size(*norms, zero=not g.any(), finite=bool(np.isfinite(g).all()))
