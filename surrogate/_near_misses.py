"""What an op that did not run is often written as instead, for the warning that nothing was captured."""

from __future__ import annotations

import sys
from collections.abc import Iterable

_COMPARED = "(x > 0).float()", "compare"
#: Op -> how else people write it, and the rule's key for that.
_WRITTEN = {
    "sign": _COMPARED,
    "heaviside": _COMPARED,
    "round": ("a cast to integers", "astype"),
    "trunc": ("a cast to integers", "astype"),
    "floor": ("x // 1 or a cast to integers", "floor_divide or astype"),
    "mod": ("x - y * floor(x / y)", "floor"),
    "fmod": ("x - y * trunc(x / y)", "trunc"),
    "clip": ("maximum and minimum", "maximum and minimum"),
    "relu": ("maximum(x, 0) or clip", "maximum or clip"),
    "relu6": ("clip(x, 0, 6)", "clip"),
    "maximum": ("clip or relu", "clip or relu"),
    "minimum": ("clip", "clip"),
    "astype": ("round, floor or trunc", "round, floor or trunc"),
    "argmax": ("a maximum and a comparison", "equal"),
}

#: Import names of frameworks, which are also those of their backends.
_FRAMEWORKS = ("torch", "tensorflow", "jax", "autograd")


def near_misses(ops: Iterable[str], framework: str) -> str:
    """Sentences, with a space before each; empty where there is nothing to say."""
    known: dict[tuple[str, str], list[str]] = {}
    for op in ops:
        if op in _WRITTEN:
            known.setdefault(_WRITTEN[op], []).append(op)
    said = [
        f" Code that writes {' or '.join(names)} as {how} needs a rule for {key}."
        for (how, key), names in known.items()
    ]
    own = framework.partition(".")[0]
    others = [name for name in _FRAMEWORKS if name in sys.modules and name != own]
    if others:
        said.append(
            f" Ops of {' and '.join(others)}, imported here too, obey rules of "
            f"surrogate.override({others[0]!r}, ...) only."
        )
    return "".join(said)
