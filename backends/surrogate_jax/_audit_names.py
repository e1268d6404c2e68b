"""What JAX calls its ops, in the canonical names of the audit."""

from __future__ import annotations

#: Primitives, and functions of JAX that are a jit of their own -> canonical name; others keep theirs.
NAMES = {
    "add_any": "add",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "around": "round",
    "broadcast_in_dim": "expand",
    "clamp": "clip",
    "concatenate": "cat",
    "convert_element_type": "cast",
    "divide": "div",
    "dynamic_slice": "slice",
    "expand_dims": "unsqueeze",
    "fix": "trunc",
    "float_power": "pow",
    "hard_sigmoid": "hardsigmoid",
    "hard_tanh": "hardtanh",
    "integer_pow": "pow",
    "is_finite": "isfinite",
    "logistic": "sigmoid",
    "max": "maximum",
    "min": "minimum",
    "power": "pow",
    "reduce_max": "amax",
    "reduce_mean": "mean",
    "reduce_min": "amin",
    "reduce_sum": "sum",
    "rem": "fmod",
    "remainder": "mod",
    "reshape": "view",
    "rint": "round",
    "select_n": "where",
    "take": "gather",
    "top_k": "topk",
    "true_divide": "div",
}

#: Its elements are those of its input, so that its range and its gradient say nothing new.
REARRANGES = frozenset({"broadcast_in_dim", "copy", "expand_dims", "reshape", "rev", "squeeze", "transpose"})

#: Primitives whose cotangents are at most sums of the incoming one: nothing turns into NaN or infinity here.
PLAIN = REARRANGES | {
    "add",
    "add_any",
    "concatenate",
    "convert_element_type",
    "dynamic_slice",
    "dynamic_update_slice",
    "gather",
    "max",
    "min",
    "neg",
    "optimization_barrier",
    "pad",
    "reduce_max",
    "reduce_min",
    "reduce_sum",
    "select_n",
    "slice",
    "sort",
    "split",
    "sub",
}

#: Matrix products: a derivative by either factor is never zero everywhere.
PRODUCTS = frozenset({"dot_general", "conv_general_dilated"})

#: A tangent can pass through it on some values and not on others.
SELECTS = frozenset({"select_n", "clamp", "cond", "while"})

#: Functions of JAX that are no jit: file, function and the primitive that makes the result -> name.
INLINED = {
    ("nn/functions.py", "softmax", "div"): "softmax",
    ("numpy/reductions.py", "mean", "div"): "mean",
}

#: JAX's callbacks into Python, as primitives.
CALLBACKS = frozenset({"pure_callback", "io_callback"})


def canonical(name: str) -> str:
    """The canonical name of a primitive or of a function of JAX's (``_where`` is its private twin)."""
    bare = name.lstrip("_") or name
    return NAMES.get(bare, bare)
