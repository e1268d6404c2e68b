"""Watching a script until it asks a tape for a gradient: everything is recorded from the start."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from surrogate.auditing import Trace
from surrogate_tensorflow._audit import Run, begun
from surrogate_tensorflow._audit_leaks import recording
from surrogate_tensorflow._audit_numbers import judged
from surrogate_tensorflow._audit_recorder import Recorder, is_float
from surrogate_tensorflow._audit_sources import Source, named_variables, unwrapped

if TYPE_CHECKING:
    from surrogate_tensorflow._backend import TensorFlowBackend


class _Watch:
    """The recorder of what runs, and the number of gradients to wait for."""

    def __init__(self, backend: TensorFlowBackend, caught: Callable[[Trace], None], step: int) -> None:
        self._backend, self._caught, self._left = backend, caught, step
        self.recorder = Recorder()
        self.recordings = ExitStack()

    def begin(self) -> None:
        """Record from now on."""
        self._backend.recorder = self.recorder
        self.recordings.enter_context(recording(self.recorder))

    def end(self) -> None:
        """Record no more."""
        self._backend.recorder = None
        self.recordings.close()

    def asked(self, real: Any, tape: Any, target: Any, sources: Any, options: Any) -> tuple[bool, Any]:
        """A tape is asked for a gradient; whether that was the one, and the gradient if it was.

        One in a graph, or of nothing that was recorded, does not count.
        """
        losses = [x for x in tf.nest.flatten(target) if tf.is_tensor(x) and is_float(x)]
        if not self._left or self.recorder.silent or not tf.executing_eagerly() or not losses:
            return False, None
        self._left -= 1
        if self._left:
            self.recorder.forget()
            return False, None
        self.end()
        return True, self._judged(real, tape, target, sources, losses[0], options)

    def _judged(self, real: Any, tape: Any, target: Any, sources: Any, loss: Any, options: Any) -> Any:
        """The gradient that was asked for, from the one call that a tape of the script's allows."""
        named = _named(sources)
        trace = begun(self.recorder, named, loss)
        tapes = _Tape(real, tape, target, sources, options)
        judged(trace, Run(self.recorder, tapes, loss), named, self._backend)
        self._caught(trace)
        return tapes.asked


class _Tape:
    """A tape of the script's, asked for intermediate gradients together with those that it wants."""

    def __init__(self, real: Any, tape: Any, target: Any, sources: Any, options: Any) -> None:
        self._real, self._tape, self._target = real, tape, target
        self._sources, self._options = sources, options
        self.asked: Any = None

    def gradient(self, loss: Any, asked: list[Any]) -> list[Any]:
        """The gradients of the audit; the script's are kept."""
        self.asked, found = self._real(self._tape, self._target, [self._sources, asked], **self._options)
        return list(found)


def _named(sources: Any) -> list[Source]:
    """The sources that the script asks for, variables under their names."""
    flat = [unwrapped(x) for x in tf.nest.flatten(sources)]
    variables = named_variables(x for x in flat if isinstance(x, tf.Variable))
    tensors = [x for x in flat if not isinstance(x, tf.Variable)]
    return [*variables, *(Source(f"source{n}", x) for n, x in enumerate(tensors))]


@contextmanager
def watching(
    backend: TensorFlowBackend, caught: Callable[[Trace], None], step: int, *, put_back: bool = False
) -> Iterator[None]:
    """Hand over the trace of the ``step``-th gradient that the program asks a tape for.

    Until then every ``tf.function`` runs eagerly, also those that Keras makes for ``fit``. With ``put_back``
    every variable has its value again at the end.
    """
    watch = _Watch(backend, caught, step)
    real = tf.GradientTape.gradient

    def gradient(tape: Any, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
        options = dict(zip(("output_gradients", "unconnected_gradients"), args, strict=False)) | kwargs
        found, gradients = watch.asked(real, tape, target, sources, options)
        return gradients if found else real(tape, target, sources, **options)

    tf.GradientTape.gradient = gradient
    watch.begin()
    try:
        yield
    finally:
        watch.end()
        tf.GradientTape.gradient = real
        if put_back:
            watch.recorder.put_back()
