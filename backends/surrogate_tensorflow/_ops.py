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
}

#: Ops that TensorFlow spells as several of its own; see ``_composites``.
COMPOSITES = frozenset({"clip", "trunc", "heaviside", "fmod", "round"})

OPS = frozenset(OP_TYPES.values()) | COMPOSITES

#: The op type that carries a composite's gradient in a graph: output 0 is the value, the rest are inputs.
CARRIER = "IdentityN"
