"""A preset: another library's choice of a gradient, by that library's name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Preset:
    """What ``library:name`` stands for.

    Attributes:
        op: the op it is for.
        name: ``library:name``, as that library spells it.
        spec: the spec it stands for, with that library's parameters.
        note: where the released library computes something else than this spec, what.
    """

    op: str
    name: str
    spec: str
    note: str = ""
