"""Whose op it is: the user's, or one that TensorFlow or Keras runs inside a function of their own.

Comparisons, casts and maxima stand in many composites (``tf.clip_by_norm``, ``keras.ops.argmax``,
``dropout``). A rule for them is meant for those that the user writes: between the op and the user's code
there may be functions of the op's own name, and what every op passes through.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surrogate_tensorflow._backend import TensorFlowBackend

#: What ops pass through on their way from the user.
_PLUMBING = frozenset(
    {
        "_call_unconverted",
        "_comparison",
        "_run_op",
        "_tensor_equals_factory",
        "_tensor_not_equals_factory",
        "_wrap_call",
        "binary_op_wrapper",
        "converted_call",
        "error_handler",
        "new_func",
        "op_dispatch_handler",
        "sparse_wrapper",
        "tensor_equals",
        "tensor_not_equals",
        "weak_tensor_binary_op_wrapper",
        "weak_tensor_unary_op_wrapper",
        "wrapper",
    }
)
_ORDERINGS = frozenset({"__gt__", "__ge__", "__lt__", "__le__"})
_ARGS = frozenset({"arg_max", "arg_min", "argmax", "argmax_v2", "argmin", "argmin_v2", "_argminmax"})
_CASTS = frozenset(
    {"_array_internal", "array", "asarray", "astype", "cast", "saturate_cast", "to_int32", "to_int64"}
)

#: The names that functions have which are the op.
_NAMES = {
    "greater": _ORDERINGS | {"greater"},
    "greater_equal": _ORDERINGS | {"greater_equal"},
    "less": _ORDERINGS | {"less"},
    "less_equal": _ORDERINGS | {"less_equal"},
    "equal": frozenset({"equal", "__eq__"}),
    "not_equal": frozenset({"not_equal", "__ne__"}),
    "argmax": _ARGS,
    "argmin": _ARGS,
    "astype": _CASTS,
    "searchsorted": frozenset({"searchsorted", "digitize"}),
    "maximum": frozenset({"maximum"}),
    "minimum": frozenset({"minimum"}),
}


#: Why calls under a rule stay native.
NOT_RECORDED = "no gradient is recorded"
NOT_FLOATING = "not a real floating-point tensor"
TENSORFLOWS_OWN = "called by a function of TensorFlow's"
NAMED_OTHERWISE = "its node names another gradient"


def is_users(backend: TensorFlowBackend, op: str) -> bool:
    """Whether the op that runs now is the user's own; always, of an op that is in few composites."""
    names = _NAMES.get(op)
    if names is None:
        return True
    frame: Any = sys._getframe(1)
    user = backend.store.callers.user_frame(frame)
    while frame is not None and frame is not user:
        module, name = frame.f_globals.get("__name__", ""), frame.f_code.co_name
        if module.startswith("keras.src.ops."):
            return _is_public(frame, names)  # a model that was built of it is far from the user
        if module.startswith(_CALLERS):
            return True
        passing = name in names or name in _PLUMBING or module.startswith(_OWN)
        if not passing:
            return False
        frame = frame.f_back
    return True


def _is_public(frame: Any, names: frozenset[str]) -> bool:
    """Whether a function of ``keras.ops``, or the operation that a model is built of, is the op itself."""
    owner = frame.f_code.co_qualname.partition(".")[0].lower()
    return frame.f_code.co_name in names or owner in {name.replace("_", "") for name in names}


#: Modules that call what the user gave them, so ``tf.function(tf.maximum)`` is the user's.
_CALLERS = (
    "keras.src.layers.activations.activation",
    "keras.src.layers.core.lambda_layer",
    "tensorflow.python.autograph.operators",
    "tensorflow.python.data.",
    "tensorflow.python.distribute.",
    "tensorflow.python.eager.",
    "tensorflow.python.framework.func_graph",
    "tensorflow.python.ops.cond",
    "tensorflow.python.ops.custom_gradient",
    "tensorflow.python.ops.functional_ops",
    "tensorflow.python.ops.map_fn",
    "tensorflow.python.ops.parallel_for.",
    "tensorflow.python.ops.script_ops",
    "tensorflow.python.ops.while",
    "tensorflow.python.util.nest",
)

#: Modules all of whose functions ops pass through: ours, and TensorFlow's generated wrappers.
_OWN = ("surrogate", "tensorflow.python.ops.gen_")
