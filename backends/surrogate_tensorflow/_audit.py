"""The audit's recorder for TensorFlow and Keras: a program once forward and once backward, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from surrogate.auditing import (
    NothingReturnedError,
    Nudge,
    Trace,
    Value,
    came_back,
    first_asked,
    nudged,
    same_random_state,
    untracked,
)
from surrogate_tensorflow import _hooks
from surrogate_tensorflow._audit_leaks import recording
from surrogate_tensorflow._audit_numbers import judged, loss_of
from surrogate_tensorflow._audit_recorder import Recorder, is_float
from surrogate_tensorflow._audit_sources import (
    Source,
    float_arguments,
    models_in_sight,
    named_variables,
    trainable,
    unwrapped,
    wanted,
)

if TYPE_CHECKING:
    from surrogate_tensorflow._backend import TensorFlowBackend

Tensor = Any
Function = Callable[..., Any]


#: Ops that write to a variable begin so.
_WRITES = ("Assign", "ResourceScatter")


class Run:
    """One run of the program: what was recorded, its tape, and its loss."""

    def __init__(self, recorder: Recorder, tape: Any, loss: Tensor) -> None:
        self.recorder, self.tape, self.loss = recorder, tape, loss


class Audited:
    """A program with its arguments, ready to run as often as the audit asks.

    Its sources are the trainable variables that it reads; if it reads none, the float tensors among its
    arguments; or what ``wrt`` says.
    """

    def __init__(
        self, backend: TensorFlowBackend, fn: Function, args: Sequence[Any], loss: Function | None, wrt: Any
    ) -> None:
        self._backend, self._fn, self._loss, self._wrt = backend, fn, loss, wrt
        self._args = list(args)
        self._random = _hooks.RandomState()
        self._drawn = False

    def trace(self) -> Trace:
        """Forward, backward, and what left for Python."""
        with same_random_state() as restore:
            try:
                return self._trace(restore)
            finally:
                self._random.put_back(drawn=self._drawn)

    def asked(self, intercept: Callable[..., Any]) -> Trace:
        """The first gradient that the program asks for."""
        with same_random_state():
            try:
                return first_asked(intercept, lambda: self._fn(*self._args))
            finally:
                self._random.put_back(drawn=True)

    def _trace(self, restore: Callable[[], None]) -> Trace:
        run = self._forward(None)
        sources = self._sources(run)

        def again(nudge: Nudge | None) -> float:
            restore()
            return loss_of(self._forward(nudge).loss)

        def changed(names: frozenset[str], factor: float) -> Trace:
            restore()
            return self._changed([source for source in sources if source.name in names], factor)

        trace = begun(run.recorder, sources, run.loss)
        try:
            judged(trace, run, sources, self._backend)
        except Exception as error:
            error.surrogate_trace = trace  # type: ignore[attr-defined]
            raise
        came_back(trace, loss_of(run.loss), again)
        untracked(trace, changed)
        return trace

    def _forward(self, nudge: Nudge | None, args: Sequence[Any] | None = None) -> Run:
        """Run the program and put its variables back."""
        args = self._args if args is None else args
        self._random.begin(drawn=self._drawn)
        recorder, tape = Recorder(nudge), tf.GradientTape(persistent=True)
        self._backend.recorder = recorder
        try:
            with recording(recorder), tape:
                for x in float_arguments(args):
                    tape.watch(x)
                out = tf.autograph.experimental.do_not_convert(self._fn)(*args)  # for the lines of the user's
                return Run(recorder, tape, scalar(out if self._loss is None else self._loss(out)))
        except Exception as error:
            error.surrogate_trace = begun(recorder, [], None)  # type: ignore[attr-defined]
            raise
        finally:
            self._backend.recorder = None
            self._drawn = self._drawn or recorder.random
            recorder.put_back()

    def _sources(self, run: Run) -> list[Source]:
        frozen = run.recorder.frozen
        read = [unwrapped(v) for v in run.tape.watched_variables() if id(v) not in frozen]
        met = {id(v) for v in read}
        unused = [v for v in trainable(models_in_sight(self._fn)) if id(v) not in met | frozen]
        variables = named_variables([*read, *unused])
        arguments = [Source(f"arg{k}", x) for k, x in enumerate(self._args) if float_arguments([x])]
        return variables or arguments if self._wrt is None else wanted(self._wrt, [*variables, *arguments])

    def _changed(self, sources: Sequence[Source], factor: float) -> Trace:
        """Record once more with some sources changed."""
        args = list(self._args)
        kept = []
        try:
            for source in sources:
                if source.is_variable:
                    kept.append((source.tensor, tf.identity(source.tensor)))
                    source.tensor.assign(_changed(source.tensor) * factor)
                else:
                    args = [_changed(x) * factor if x is source.tensor else x for x in args]
            run = self._forward(None, args)
            return begun(run.recorder, [], run.loss)
        finally:
            for variable, value in kept:
                variable.assign(value)


def _changed(x: Tensor) -> Tensor:
    return tf.cast(nudged(np.asarray(x)), x.dtype)


def begun(recorder: Recorder, sources: Sequence[Source], loss: Tensor | None) -> Trace:
    """A trace of what was recorded, without what a backward pass tells."""
    ids = {recorder.vid(source.key): source.name for source in sources}
    end = None if loss is None else recorder.vid(loss)
    _follow_writes(recorder, ids)
    return Trace("tensorflow", recorder.calls, recorder.values, ids, end)


def _follow_writes(recorder: Recorder, sources: Mapping[int, str]) -> None:
    """A variable that is assigned to is another value from then on; its tape forgets what that was made of.

    Variables that the program is differentiated by keep their id: an optimiser writes to them at the end.
    """
    now: dict[int, int] = {}
    for call in recorder.calls:
        call.ins = [i if i is None else now.get(i, i) for i in call.ins]
        handle = call.ins[0] if call.raw.startswith(_WRITES) and len(call.ins) > 1 else None
        if handle is not None and not call.outs and handle not in sources:
            first = next((old for old, new in now.items() if new == handle), handle)
            new = now[first] = len(recorder.values)
            recorder.values[new] = Value("variable", True, recorder.values[handle].shape)
            recorder.held[new] = recorder.held[handle]
            call.outs, call.live_out = [new], [False]
            call.why = "a variable keeps the value and not what it was made of"


def scalar(out: Any) -> Tensor:
    """The loss: the output if it is one number, else a fixed random projection of its float tensors.

    A plain sum of a softmax, or of a normalisation, has no gradient.
    """
    leaves = [tf.convert_to_tensor(x) for x in tf.nest.flatten(out) if tf.is_tensor(x) or hasattr(x, "value")]
    if not leaves:
        raise NothingReturnedError
    floats = [x for x in leaves if is_float(x)] or [tf.cast(x, tf.float32) for x in leaves]
    if len(floats) == 1 and floats[0].shape.num_elements() == 1:
        return tf.reshape(floats[0], ())
    draws = np.random.RandomState(0)
    parts = [tf.reduce_sum(x * tf.constant(draws.standard_normal(tuple(x.shape)), x.dtype)) for x in floats]
    return tf.add_n([tf.cast(x, parts[0].dtype) for x in parts])
