"""autograd's names of ops, as the audit knows them."""

from __future__ import annotations

#: Name of the function in ``autograd.numpy`` -> canonical name; others are named as there.
NAMES = {
    "absolute": "abs",
    "fabs": "abs",
    "_array_from_scalar_or_array": "clone",
    "__getitem__": "index",
    "arccos": "acos",
    "arcsin": "asin",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "arctan2": "atan2",
    "array_from_args": "stack",
    "around": "round",
    "round_": "round",
    "rint": "round",
    "astype": "cast",
    "_astype": "cast",
    "broadcast_to": "expand",
    "concatenate_args": "cat",
    "divide": "div",
    "true_divide": "div",
    "equal": "eq",
    "fix": "trunc",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "max": "amax",
    "min": "amin",
    "multiply": "mul",
    "negative": "neg",
    "not_equal": "ne",
    "power": "pow",
    "ravel": "view",
    "remainder": "mod",
    "reshape": "view",
    "searchsorted": "bucketize",
    "subtract": "sub",
    "swapaxes": "transpose",
}

#: autograd does not trace them, and they tell only of shapes and dtypes: they are left alone.
STRUCTURE = frozenset(
    (
        *("shape", "ndim", "size", "result_type", "isscalar", "iscomplexobj"),
        *("empty_like", "full_like", "ones_like", "zeros_like"),
    )
)
