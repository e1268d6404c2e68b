"""Messages for unknown names: what was asked, the nearest name, all known names."""

from __future__ import annotations

from collections.abc import Iterable

#: What else a thing is called: by another framework, or by the import name.
_ALSO = {
    "%": "mod",
    "//": "floor_divide",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
    "absolute": "abs",
    "clamp": "clip",
    "clip_by_value": "clip",
    "fix": "trunc",
    "floordiv": "floor_divide",
    "floormod": "mod",
    "flax": "jax",
    "keras": "tensorflow",
    "remainder": "mod",
    "rint": "round",
    "hardtanh": "clip",
    "linear": "identity",
    "pass": "identity",
    "sgn": "sign",
    "ste": "identity",
    "straight_through": "identity",
    "step": "heaviside",
    "tf": "tensorflow",
    "truncatemod": "fmod",
}


def unknown(kind: str, name: object, known: Iterable[str], *, where: str = "") -> str:
    """``unknown op 'sgin': did you mean 'sign'? Known ops: ...``"""
    names = sorted(known)
    near = nearest(name, names)
    hint = f": did you mean {' or '.join(map(repr, near))}?" if near else "."
    listing = ", ".join(names) or "none"
    return f"unknown {kind} {name!r}{where}{hint} Known {kind}s: {listing}."


def nearest(name: object, names: list[str]) -> list[str]:
    """The known names that may be meant, at most two; also of a function, or of ``np.sign``."""
    import difflib  # needed only when something is wrong: not worth its import time

    text = str(getattr(name, "__name__", name)).lower().rpartition("::")[2]
    parts = text, text.rpartition(".")[2], text.partition(".")[0]
    for part in parts:
        meant = _ALSO.get(part, part)
        if meant in names:
            return [meant]
    for part in parts[:2]:
        near = difflib.get_close_matches(part, names, n=2, cutoff=0.6)
        likeness = [difflib.SequenceMatcher(None, part, other).ratio() for other in near]
        if near:  # the second one only if it is nearly as close
            return [other for other, value in zip(near, likeness, strict=True) if value > likeness[0] - 0.1]
    return []
