"""What mends a lost gradient: an override of the catalogue, or words."""

from __future__ import annotations

from collections.abc import Mapping

from surrogate.auditing._graph import Graph
from surrogate.auditing._trace import Call

#: Canonical names whose op has another name in the catalogue.
CATALOGUE = {
    "sgn": "sign",
    "gt": "greater",
    "ge": "greater_equal",
    "lt": "less",
    "le": "less_equal",
    "eq": "equal",
    "ne": "not_equal",
    "cast": "astype",
    "bucketize": "searchsorted",
    "clamp": "clip",
    "clamp_min": "maximum",
    "clamp_max": "minimum",
}

#: What is suggested for ops whose results are no floats; ``surrogate.use`` leaves them alone unless asked.
DISCRETE = {
    **dict.fromkeys(("greater", "greater_equal", "less", "less_equal"), "arctan"),
    "argmax": "softmax",
    "argmin": "softmax",
    "astype": "identity",
}

_LOST = {
    "detach": "remove the detach, or leave these out of the optimiser",
    "stop_gradient": "remove stop_gradient, or leave these out of the optimiser",
    "no_grad": "leave the no_grad block, or leave these out of the optimiser",
    "requires_grad": "look for what cut the loss above, and remove this line",
    "argmax": "softmax (a soft arg-max), or a straight-through one-hot",
    "argmin": "softmax of the negative (a soft arg-min), or a straight-through one-hot",
    "topk": "use the values, or a relaxed sort",
    "sort": "use the values, or a relaxed sort",
    "argsort": "a relaxed sort",
    "one_hot": "softmax",
    "cast": "interpolate between neighbours instead of indexing, or make the index by a surrogate round",
    "item": "keep it an array of the framework",
    "tolist": "keep it an array of the framework",
    "numpy": "use the framework's own op",
    "while": "a loop of fixed length (scan, fori_loop with static bounds), or a custom gradient",
}

_ORDERINGS = frozenset(("gt", "ge", "lt", "le"))
_COMPARISON = "a heaviside of the difference under an override: the same values and a gradient"

_STABLE = {
    "log": "add an epsilon, or a fused log_softmax, logsigmoid or log1p",
    "sqrt": "add an epsilon under the root, or mask the input first (double where)",
    "rsqrt": "add an epsilon under the root",
    "norm": "add an epsilon under the root, or mask the input first (double where)",
    "std": "var, or sqrt(var + eps)",
    "acos": "atan2 of sine and cosine, or clip inside (-1, 1)",
    "asin": "atan2 of sine and cosine, or clip inside (-1, 1)",
    "div": "an epsilon in the denominator, or mask the input first (double where)",
    "reciprocal": "add an epsilon, or mask the input first (double where)",
    "pow": "clip away from zero",
    "exp": "subtract the maximum first: softmax, logsumexp, sigmoid",
    "atan2": "mask the input at the origin first (double where)",
    "log1p": "clip above -1 by an epsilon that the dtype can hold",
}

#: What to write for the logarithm of a probability ``p``, or (True) of ``1 - p``.
STABLE_LOG = {
    (False, "softmax"): "log_softmax",
    (False, "sigmoid"): "logsigmoid, or the cross-entropy with logits",
    (True, "softmax"): "logsumexp of the other logits, less logsumexp of all",
    (True, "sigmoid"): "logsigmoid of minus the logit, or the cross-entropy with logits",
}


def rule_for(name: str, defaults: Mapping[str, str]) -> tuple[str, str] | None:
    """The override that gives this op a gradient; None if there is none or the backend cannot capture it.

    Args:
        name: canonical name.
        defaults: op -> recommended spec, of the ops that the backend captures.
    """
    op = CATALOGUE.get(name, name)
    return (op, defaults[op]) if op in defaults else None


def hint_for(call: Call) -> str:
    """What to do about a lost gradient, in words."""
    words = _LOST.get(call.why) or _LOST.get(call.name, "")
    return words or (_COMPARISON if call.name in _ORDERINGS else "")


def stable_form(call: Call, graph: Graph) -> str:
    """What to write in place of an op that fails for some input."""
    made = graph.made_by(call.ins[0]) if call.name == "log" and call.ins else ""
    return STABLE_LOG.get((False, made)) or _STABLE.get(call.name, "")
