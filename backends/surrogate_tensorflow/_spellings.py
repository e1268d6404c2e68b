"""Which TensorFlow op types are which op."""

from __future__ import annotations

#: TensorFlow's op type -> our op. ``Mod`` and ``TruncateMod`` have the sign of the dividend.
OP_TYPES = {
    "Sign": "sign",
    "Round": "round",
    "Rint": "round",
    "Floor": "floor",
    "Ceil": "ceil",
    "FloorMod": "mod",
    "Mod": "fmod",
    "TruncateMod": "fmod",
    "FloorDiv": "floor_divide",
    "ClipByValue": "clip",
    "Relu": "relu",
    "Relu6": "relu6",
    "Abs": "abs",
    "Maximum": "maximum",
    "Minimum": "minimum",
}

#: Op types that turn floats into booleans or integers -> our op; see ``_discrete``.
DISCRETE_TYPES = {
    "Greater": "greater",
    "GreaterEqual": "greater_equal",
    "Less": "less",
    "LessEqual": "less_equal",
    "Equal": "equal",
    "NotEqual": "not_equal",
    "ArgMax": "argmax",
    "ArgMin": "argmin",
    "Cast": "astype",
    "LowerBound": "searchsorted",
    "UpperBound": "searchsorted",
    "Bucketize": "searchsorted",
}

#: Ops that TensorFlow spells as several of its own; see ``_composites``.
COMPOSITES = frozenset({"clip", "trunc", "heaviside", "fmod", "round"})

OPS = frozenset(OP_TYPES.values()) | frozenset(DISCRETE_TYPES.values()) | COMPOSITES

#: The op type that carries a composite's gradient in a graph: output 0 is the value, the rest are inputs.
CARRIER = "IdentityN"


def op_of(op_type: str) -> str | None:
    """Our op of an op type, or None."""
    return OP_TYPES.get(op_type) or DISCRETE_TYPES.get(op_type)
