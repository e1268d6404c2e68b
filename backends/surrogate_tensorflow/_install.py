"""Putting the hooks in: some once and for all, the ones that cost something only while they are needed."""

from __future__ import annotations

import contextvars
import functools
import gc
import weakref
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from surrogate_tensorflow import (
    _called,
    _composites,
    _eager,
    _forward,
    _graph,
    _hooks,
    _saved_model,
    _vectorize,
)

if TYPE_CHECKING:
    from surrogate_tensorflow._backend import TensorFlowBackend


def install(backend: TensorFlowBackend) -> None:
    """The hooks that stay: a backward pass may come when no override is alive any more."""
    _hooks.record_gradient.replace(_eager.make_record_gradient(backend))
    _hooks.record_operation.replace(_make_record_operation(backend))
    _hooks.imperative_grad.replace(_make_imperative_grad(backend))
    _hooks.get_gradient_function.replace(_graph.make_get_gradient_function(backend))
    _hooks.register_gradient_function.native(_make_eager_gradient_function(backend))
    _hooks.function_jvps.replace(_forward.make_function_jvps(backend))
    _hooks.trace_saved_gradients.replace(_saved_model.make_trace_gradients())
    _vectorize.install(backend)
    _install_threads(backend)


def uninstall() -> None:
    """Leave TensorFlow as it was: the probe failed."""
    for hook in _hooks.HOOKS:
        hook.restore()
    _hooks.register_gradient_function.native(_hooks.eager_gradient_function.native)
    _vectorize.uninstall()
    _composites.switch(False)


def switcher(backend: TensorFlowBackend) -> Any:
    """A function that puts in, or takes out, what is needed only while an override is alive."""
    hooks = {
        _hooks.fast_path: _eager.make_fast_path(backend),
        _hooks.apply_op: _graph.make_apply_op(backend),
        _hooks.import_nodes: _graph.make_import_nodes(backend),
        _hooks.function_context: _graph.make_function_context(backend),
        _hooks.call_loaded: _saved_model.make_call_loaded(backend),
        _hooks.call_flat: _called.make_call_flat(backend),
        _hooks.call_concrete: _saved_model.make_call_concrete(backend),
    }

    def switch(on: bool) -> None:
        for hook, ours in hooks.items():
            hook.replace(ours) if on else hook.restore()
        _composites.switch(on)

    return switch


def _make_record_operation(backend: TensorFlowBackend) -> Any:
    """Backward functions written in Python (tf.recompute_grad) obey what the forward did."""
    native, scope = _hooks.record_operation.native, backend.scope

    def record_operation(
        op_type: Any,
        output_tensors: Any,
        input_tensors: Any,
        backward_function: Any,
        forward_function: Any = None,
    ) -> None:
        situation = scope.here() if scope.alive else scope.nothing
        backward = scope.bound(situation, backward_function)
        native(op_type, output_tensors, input_tensors, backward, forward_function)

    return record_operation


def _make_imperative_grad(backend: TensorFlowBackend) -> Any:
    """What a tape recorded before we were loaded, when no rules were, runs again without any.

    All that is recorded from now on brings along what it obeys: where no tape is alive, nothing is to do.
    """
    native = _hooks.imperative_grad.native
    without = backend.scope.bound(backend.scope.nothing, native)
    older = _older_tapes()

    def imperative_grad(tape: Any, *args: Any, **kwargs: Any) -> Any:
        mine = (
            owner is not None and _hooks.core_tape(owner) is tape for owner in (found() for found in older)
        )
        return (without if any(mine) else native)(tape, *args, **kwargs)

    return imperative_grad if older else native


@functools.cache
def _older_tapes() -> list[weakref.ref[Any]]:
    """The tapes that are alive when the backend loads."""
    return [weakref.ref(found) for found in gc.get_objects() if issubclass(type(found), tf.GradientTape)]


def _make_eager_gradient_function(backend: TensorFlowBackend) -> Any:
    """Native gradients of eager ops never see rules: the gradient of abs calls sign."""
    return backend.scope.suspending(_hooks.eager_gradient_function.native)


def _install_threads(backend: TensorFlowBackend) -> None:
    """Threads that TensorFlow starts on the user's behalf see what the user's thread sees."""
    init, run, py_init = _hooks.replica_init, _hooks.replica_run, _hooks.py_function_init

    def replica_init(self: Any, *args: Any, **kwargs: Any) -> None:
        self._surrogate_context = contextvars.copy_context()
        init.native(self, *args, **kwargs)

    def replica_run(self: Any) -> None:
        self._surrogate_context.run(run.native, self)

    def py_function_init(self: Any, function: Any, *args: Any, **kwargs: Any) -> None:
        here = backend.scope.here()
        py_init.native(self, backend.scope.bound(here, function), *args, **kwargs)

    init.replace(replica_init)
    run.replace(replica_run)
    py_init.replace(py_function_init)
