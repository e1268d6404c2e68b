"""Every private name of TensorFlow that this backend stands on: where it is, what for, how to swap it.

The files that hold the load-bearing names were compared in 2.16.2, 2.17.1, 2.18.1, 2.19.1, 2.20.0 and
2.21.0 and are identical; 2.16.2 and 2.21.0 are run by the tests. A name that is gone is found when the
backend loads, before anything is changed.
"""

from __future__ import annotations

import random
from typing import Any

import surrogate

TESTED = "2.16.2 to 2.21.0"


class Hook(surrogate.Hook):
    """One private name: read with ``native``, swapped with ``replace`` and put back with ``restore``."""

    native: Any = None

    def find(self) -> Any:
        """Look the name up; what is there is native from then on."""
        self.native = super().find()
        return self.native

    @property
    def now(self) -> Any:
        """What is in its place now."""
        return super().find()

    def replace(self, value: Any) -> None:
        """Put ``value`` in its place."""
        setattr(self.owner(), self.attribute, value)

    def restore(self) -> None:
        """Put the native value back."""
        self.replace(self.native)

    def __str__(self) -> str:
        return self.name


_EAGER = "gradients in eager mode"
_GRAPHS = "gradients in tf.function and graphs"
_RULES_ONLY = "native gradients to stay native"
_FORWARD = "forward mode"

# -- swapped while an override is alive ---------------------------------------------------------
fast_path = Hook("tensorflow.python.pywrap_tfe:TFE_Py_FastPathExecute", _EAGER)
apply_op = Hook("tensorflow.python.framework.op_def_library:_apply_op_helper", _GRAPHS)
import_nodes = Hook(
    "tensorflow.python.framework.ops:Graph._add_new_tf_operations", "graphs that are imported or loaded"
)
function_context = Hook(
    "tensorflow.python.eager.polymorphic_function.function_context:make_function_context",
    "tf.function never to be stale",
)
call_loaded = Hook(
    "tensorflow.python.saved_model.load:_WrapperFunction._call_flat", "warnings for loaded models"
)
call_concrete = Hook(
    "tensorflow.python.eager.polymorphic_function.concrete_function:ConcreteFunction._call_impl",
    "warnings for concrete functions",
)

call_flat = Hook(
    "tensorflow.python.eager.polymorphic_function.concrete_function:ConcreteFunction._call_flat",
    "what a traced function captured to be told when it is called",
)

# -- swapped once, when the backend loads -------------------------------------------------------
record_gradient = Hook("tensorflow.python.eager.execute:record_gradient", "tapes, eager and inside functions")
record_operation = Hook(
    "tensorflow.python.eager.record:record_operation", "recomputation under the rules of the forward"
)
imperative_grad = Hook(
    "tensorflow.python.eager.imperative_grad:imperative_grad",
    "recomputation under the rules of a forward before the load",
)
get_gradient_function = Hook("tensorflow.python.framework.ops:get_gradient_function", _GRAPHS)
eager_gradient_function = Hook("tensorflow.python.eager.backprop:_gradient_function", _RULES_ONLY)
register_gradient_function = Hook("tensorflow.python.pywrap_tfe:TFE_Py_RegisterGradientFunction", _RULES_ONLY)
replica_init = Hook(
    "tensorflow.python.distribute.mirrored_run:_MirroredReplicaThread.__init__", "MirroredStrategy"
)
replica_run = Hook("tensorflow.python.distribute.mirrored_run:_MirroredReplicaThread.run", "MirroredStrategy")
py_function_init = Hook("tensorflow.python.ops.script_ops:EagerFunc.__init__", "tf.py_function")
function_jvps = Hook(
    "tensorflow.python.eager.polymorphic_function.concrete_function:_TapeGradientFunctions._wrap_forward_function_with_jvps",
    _FORWARD,
)
initialize = Hook(
    "tensorflow.python.eager.context:Context.ensure_initialized",
    "a check of eager mode that does not start the runtime",
)
vectorizers = Hook(
    "tensorflow.python.ops.parallel_for.pfor:_pfor_converter_registry",
    "composite ops under tf.vectorized_map",
)
trace_saved_gradients = Hook(
    "tensorflow.python.saved_model.save:_trace_gradient_functions", "tf.saved_model.save"
)

# -- only called --------------------------------------------------------------------------------
tape_is_empty = Hook("tensorflow.python.pywrap_tfe:TFE_Py_TapeSetIsEmpty", _EAGER)
tape_is_stopped = Hook("tensorflow.python.pywrap_tfe:TFE_Py_TapeSetIsStopped", _EAGER)
stop_tapes = Hook("tensorflow.python.pywrap_tfe:TFE_Py_TapeSetStopOnThread", _EAGER)
restart_tapes = Hook("tensorflow.python.pywrap_tfe:TFE_Py_TapeSetRestartOnThread", _EAGER)
is_watched = Hook("tensorflow.python.pywrap_tfe:TFE_Py_TapeSetShouldRecordBackprop", _EAGER)
pack_tangents = Hook("tensorflow.python.pywrap_tfe:TFE_Py_PackJVPs", _FORWARD)
leave_fast_path = Hook("tensorflow.python.eager.core:_FallbackException", _EAGER)
eager_tensor = Hook("tensorflow.python.framework.ops:EagerTensor", _EAGER)
op_definition = Hook(
    "tensorflow.python.framework.op_def_registry:get", "names of an op's inputs, for formulas"
)
gradient_registry = Hook("tensorflow.python.framework.ops:gradient_registry", "gradient_override_map")
create_vectorized = Hook(
    "tensorflow.python.ops.parallel_for.pfor:_create_op", "composite ops under tf.vectorized_map"
)
wrap_vectorized = Hook(
    "tensorflow.python.ops.parallel_for.pfor:wrap", "composite ops under tf.vectorized_map"
)
op_definitions = Hook(
    "tensorflow.python.framework.op_def_registry:get", "gradients through booleans and integers"
)
default_graph = Hook(
    "tensorflow.python.framework.ops:get_default_graph", "calls inside a graph (public in tf.compat.v1)"
)
context = Hook(
    "tensorflow.python.eager.context:context", "a check of eager mode that does not start the runtime"
)

# -- for audits; the first three are swapped while a program is recorded ---------------------------
_AUDIT = "audits"
execute = Hook("tensorflow.python.eager.execute:execute", _AUDIT)
numpy_function = Hook("tensorflow.python.ops.script_ops:py_func_common", _AUDIT)
add_op_callback = Hook("tensorflow.python.framework.op_callbacks:add_op_callback", _AUDIT)
remove_op_callback = Hook("tensorflow.python.framework.op_callbacks:remove_op_callback", _AUDIT)
quick_execute = Hook("tensorflow.python.eager.execute:quick_execute", _AUDIT)
eager_context = Hook("tensorflow.python.eager.context:context", _AUDIT)
handle_data = Hook("tensorflow.python.ops.resource_variable_ops:get_eager_safe_handle_data", _AUDIT)
eager_values = Hook("tensorflow.python.framework.ops:EagerTensor._numpy", _AUDIT)
kernels = Hook("tensorflow.python.eager.context:Context.clear_kernel_cache", _AUDIT)

HOOKS = tuple(value for value in list(globals().values()) if isinstance(value, Hook))

surrogate.check_hooks("tensorflow", HOOKS, TESTED)


def core_tape(tape: Any) -> Any:
    """What a ``tf.GradientTape`` records on, as ``imperative_grad`` is given it; None before it records."""
    return tape._tape


def runtime_is_up() -> bool:
    """Whether an op has run eagerly in this process, or TensorFlow was otherwise brought up."""
    return bool(context.native()._initialized)


# -- for audits ----------------------------------------------------------------------------------


def raw_numpy(x: Any) -> Any:
    """The values of an eager tensor, unseen by who watches its methods; not a copy."""
    return x._numpy()


def run_op(op_type: str, outputs: int, inputs: list[Any], attributes: tuple[Any, ...]) -> list[Any]:
    """Run an op by its type; no tape and no callback sees it."""
    found: list[Any] = quick_execute.native(op_type, outputs, inputs, attributes, eager_context.native())
    return found


def read_variable(handle: Any) -> Any:
    """The value of the variable behind a handle; None if it has none, or is another resource."""
    import tensorflow as tf

    data = handle_data.native(handle)
    if data is None or not data.is_set or len(data.shape_and_type) != 1:
        return None
    if not tf.raw_ops.VarIsInitializedOp(resource=handle):  # read, it would be an empty tensor
        return None
    try:
        return tf.raw_ops.ReadVariableOp(resource=handle, dtype=data.shape_and_type[0].dtype)
    except tf.errors.OpError:
        return None


class RandomState:
    """TensorFlow's process-wide random state: the seed, and what the seeds of ops are drawn from.

    A kernel keeps how much it has drawn; where one drew, the kernels are made anew.
    """

    def __init__(self) -> None:
        self._context = eager_context.native()
        self._before = self._context._seed, getattr(self._context, "_rng", None)

    def begin(self, *, drawn: bool) -> None:
        """A state of our own, the same for every run of a program, so that runs can be compared."""
        self._set(0, random.Random(0), drawn)

    def put_back(self, *, drawn: bool) -> None:
        """The state as it was."""
        self._set(*self._before, drawn)

    def _set(self, seed: Any, draws: Any, drawn: bool) -> None:
        self._context._seed, self._context._rng = seed, draws
        if drawn:
            self._context.clear_kernel_cache()
