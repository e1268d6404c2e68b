"""What op callbacks do not show an audit: values that leave for Python, NumPy functions, custom gradients."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import tensorflow as tf

from surrogate_tensorflow import _hooks
from surrogate_tensorflow._audit_recorder import Recorder, framework_files

#: Methods of an eager tensor that give its value away -> what the audit calls that.
_LEAVES = {
    "numpy": "numpy",
    "__array__": "numpy",
    "__float__": "item",
    "__int__": "item",
    "__index__": "item",
    "__bool__": "bool",
}

#: Functions of the framework whose purpose is to give a value away.
_GIVE = frozenset({"convert_to_numpy"})

_PYTHON = "a Python function has no derivative"


@contextmanager
def recording(recorder: Recorder) -> Iterator[None]:
    """Run a block eagerly, tf.functions too, and record it.

    The fast path in C is closed: it reads variables without telling the callbacks.
    """
    eagerly = tf.config.functions_run_eagerly()
    with ExitStack() as stack:
        stack.callback(tf.config.run_functions_eagerly, eagerly)
        tf.config.run_functions_eagerly(True)
        stack.enter_context(warnings.catch_warnings())  # input pipelines stay graphs, and are no matter here
        warnings.filterwarnings("ignore", "Even though the `tf.config.experimental_run_functions_eagerly`")
        _hooks.add_op_callback.native(recorder.callback)
        stack.callback(_hooks.remove_op_callback.native, recorder.callback)
        _put(stack, _hooks.execute, _watching_writes(recorder))
        _put(stack, _hooks.fast_path, _refuse)
        _put(stack, _hooks.record_operation, _custom_gradients(recorder))
        _put(stack, _hooks.numpy_function, _numpy_functions(recorder))
        for method, name in _LEAVES.items():
            owner = _class_with(_hooks.eager_tensor.native, method)
            _put_in(stack, owner, method, _leaving(recorder, name))
        if "keras" in sys.modules:
            owner = _class_with(sys.modules["keras"].Variable, "value")
            _put_in(stack, owner, "value", _keras_variables(recorder))
        yield


def _put(stack: ExitStack, hook: _hooks.Hook, make: Callable[[Any], Any]) -> None:
    """Replace what is there now, which may be ours for overrides, and put that back."""
    now = hook.now
    stack.callback(hook.replace, now)
    hook.replace(make(now))


def _put_in(stack: ExitStack, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    now = vars(owner)[name]
    stack.callback(setattr, owner, name, now)
    setattr(owner, name, make(now))


def _class_with(kind: type, name: str) -> type:
    """The class that an attribute of instances is defined in."""
    return next(c for c in kind.__mro__ if name in vars(c))


def _keras_variables(recorder: Recorder) -> Callable[[Any], Any]:
    """Keras freezes its own variables, not those of TensorFlow in them: a tape watches them all the same."""

    def make(real: Any) -> Any:
        def value(variable: Any) -> Any:
            found = real.fget(variable)
            if not variable.trainable:
                recorder.frozen.add(id(found))
            return found

        return property(value, doc=real.__doc__)

    return make


def _refuse(_: Any) -> Any:
    def fast_path(*args: Any, **kwargs: Any) -> Any:
        raise _hooks.leave_fast_path.native("recording")

    return fast_path


def _watching_writes(recorder: Recorder) -> Callable[[Any], Any]:
    def make(real: Any) -> Any:
        def execute(op_name: Any, num_outputs: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            name = op_name.decode() if isinstance(op_name, bytes) else op_name
            recorder.about_to_write(name, inputs)
            return real(op_name, num_outputs, inputs, *args, **kwargs)

        return execute

    return make


def _custom_gradients(recorder: Recorder) -> Callable[[Any], Any]:
    """A function with a gradient of its own is one op; what it is made of has no gradient."""

    def make(real: Any) -> Any:
        def record_operation(
            op_type: Any,
            output_tensors: Any,
            input_tensors: Any,
            backward_function: Any,
            forward_function: Any = None,
        ) -> Any:
            found = real(op_type, output_tensors, input_tensors, backward_function, forward_function)
            outputs = tf.nest.flatten(output_tensors)
            if not recorder.silent and any(isinstance(x, _hooks.eager_tensor.native) for x in outputs):
                name = op_type.decode() if isinstance(op_type, bytes) else str(op_type)
                recorder.as_one(name, tf.nest.flatten(input_tensors), outputs, backward_function)
            return found

        return record_operation

    return make


def _numpy_functions(recorder: Recorder) -> Callable[[Any], Any]:
    """``tf.numpy_function`` reads tensors through the buffer protocol: no op runs, no method is called."""

    def make(real: Any) -> Any:
        def py_func_common(func: Any, inp: Any = None, *args: Any, **kwargs: Any) -> Any:
            if recorder.silent:
                return real(func, inp, *args, **kwargs)
            recorder.paused += 1
            try:
                found = real(func, inp, *args, **kwargs)
            finally:
                recorder.paused -= 1
            recorder.as_one("numpy_function", tf.nest.flatten(inp), tf.nest.flatten(found), why=_PYTHON)
            return found

        return py_func_common

    return make


def _leaving(recorder: Recorder, name: str) -> Callable[[Any], Any]:
    files = framework_files()

    def make(real: Any) -> Any:
        def leave(x: Any, *args: Any, **kwargs: Any) -> Any:
            code = sys._getframe(1).f_code
            own = code.co_filename.startswith(files) and code.co_name not in _GIVE
            if recorder.silent or own or not isinstance(x, _hooks.eager_tensor.native):
                return real(x, *args, **kwargs)
            recorder.paused += 1
            try:
                value = real(x, *args, **kwargs)
            finally:
                recorder.paused -= 1
            return recorder.leaves(name, x, value)

        return leave

    return make
