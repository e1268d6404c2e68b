"""Messages for unknown names: what was asked, the nearest name, all known names."""

from __future__ import annotations

from collections.abc import Iterable


def unknown(kind: str, name: object, known: Iterable[str], *, where: str = "") -> str:
    """``unknown op 'sgin': did you mean 'sign'? Known ops: ...``"""
    import difflib  # needed only when something is wrong: not worth its import time

    names = sorted(known)
    near = difflib.get_close_matches(str(name).lower(), names, n=2, cutoff=0.6)
    hint = f" did you mean {' or '.join(map(repr, near))}?" if near else ""
    listing = ", ".join(names) or "none"
    return f"unknown {kind} {name!r}{where}:{hint} Known {kind}s: {listing}."
