"""Messages for unknown names: what was asked, the nearest name, all known names."""

from __future__ import annotations

from collections.abc import Container, Iterable

from surrogate._aliases import is_through

#: What else a thing is called: by another framework, or by the import name.
_ALSO = {
    "absolute": "abs",
    "atan": "arctan",
    "eq": "equal",
    "ge": "greater_equal",
    "gt": "greater",
    "le": "less_equal",
    "lt": "less",
    "ne": "not_equal",
    "superspike": "fast_sigmoid",
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
    "sgn": "sign",
    "step": "heaviside",
    "tf": "tensorflow",
    "truncatemod": "fmod",
}

#: Gradients that a name of straight-through may mean.
_THROUGH = ("identity", "straight_through", "hardtanh")


def unknown(kind: str, name: object, known: Iterable[str], *, where: str = "", note: str = "") -> str:
    """``unknown op 'sgin': did you mean 'sign'? Known ops: ...``, with a ``note`` before what is known."""
    names = sorted(known)
    near = nearest(name, names)
    hint = f": did you mean {' or '.join(map(repr, near))}?" if near else ""
    if note:
        hint = f"{hint or ':'} {note}"
    hint = hint or "."
    listing = ", ".join(names) or "none"
    return f"unknown {kind} {name!r}{where}{hint} Known {kind}s: {listing}."


def meant(name: object, names: Container[str]) -> str | None:
    """The known name that this one is in other letters or in a framework, ``clip`` for ``torch.clamp``."""
    for part in _parts(name):
        for also in (part, _ALSO.get(part, part)):
            if also in names:
                return also
    return None


def _parts(name: object) -> tuple[str, str, str]:
    text = str(getattr(name, "__name__", name)).lower().rpartition("::")[2]
    return text, text.rpartition(".")[2], text.partition(".")[0]


def nearest(name: object, names: list[str]) -> list[str]:
    """The known names that may be meant, at most two; also of a function, or of ``np.sign``."""
    import difflib  # needed only when something is wrong: not worth its import time

    parts = _parts(name)
    if through := [meant for meant in _THROUGH if is_through(parts[0]) and meant in names]:
        return through[:2]
    if (known := meant(name, names)) is not None:
        return [known]
    for part in parts[:2]:
        near = difflib.get_close_matches(part, names, n=2, cutoff=0.6)
        likeness = [difflib.SequenceMatcher(None, part, other).ratio() for other in near]
        if near:  # the second one only if it is nearly as close
            return [other for other, value in zip(near, likeness, strict=True) if value > likeness[0] - 0.1]
    return []
