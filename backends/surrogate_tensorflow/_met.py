"""What a block of ``gradient_override_map`` captured, and what ran in it instead."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Mapping

import surrogate
from surrogate_tensorflow._spellings import DISCRETE_TYPES, OP_TYPES

#: How many op types a message names.
_NAMED = 8


class Block:
    """One block.

    Args:
        types: op type -> name of a registered gradient.
    """

    def __init__(self, types: Mapping[str, str]) -> None:
        self.types = dict(types)
        self.captured: set[str] = set()
        self.ran: set[str] = set()

    def warn_if_unused(self, stacklevel: int) -> None:
        """Warn if it captured nothing, unless a compiled function of before may carry its gradients.

        Warns:
            NothingCapturedWarning: naming what did run.
        """
        if not self.types or self.captured or any(one in _kept for one in self.types.items()):
            return
        names = ", ".join(sorted(self.types))
        warnings.warn(
            f"gradient_override_map of {names} captured nothing: {self._why(names)}",
            surrogate.NothingCapturedWarning,
            stacklevel=stacklevel + 1,
        )

    def _why(self, names: str) -> str:
        discrete = sorted(self.ran & self.types.keys() & DISCRETE_TYPES.keys())
        if discrete:
            ops = ", ".join(sorted({repr(DISCRETE_TYPES[one]) for one in discrete}))
            return (
                f"{', '.join(discrete)} ran, whose results carry no gradient of their own. "
                f"surrogate.override goes on through them: its ops are {ops}."
            )
        near = {one for name in self.types for one in difflib.get_close_matches(name, self.ran, n=3)}
        known = self.ran & (OP_TYPES.keys() | DISCRETE_TYPES.keys())
        others = sorted(self.ran - self.types.keys(), key=lambda one: (one not in near | known, one))
        what = f"; {', '.join(others[:_NAMED])} did." if others else ": no op ran at all."
        return f"no {names} ran while a gradient was recorded{what}"


#: The blocks that are entered now.
blocks: list[Block] = []
_kept: set[tuple[str, str]] = set()


def ran(op_type: str) -> None:
    """Note that an op ran inside the blocks."""
    for block in blocks:
        block.ran.add(op_type)


def captured(op_type: str, name: str, *, kept: bool) -> None:
    """Note that an op got the gradient of this name; ``kept``: in a graph, that may run again unseen."""
    for block in blocks:
        if block.types.get(op_type) == name:
            block.captured.add(op_type)
    if kept:
        _kept.add((op_type, name))
