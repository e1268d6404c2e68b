"""Findings that the author of a program has declared sound."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from surrogate._errors import SpecError
from surrogate._suggest import unknown
from surrogate.auditing._finding import KINDS, Finding

#: Kind and ``file.py:line``.
Ignored = tuple[str, str]

_COMMENT = re.compile(r"#\s*surrogate:\s*sound\b")


def is_sound(finding: Finding, ignore: Iterable[Ignored]) -> bool:
    """Whether the line says ``# surrogate: sound``, or the caller of the audit has named kind and line."""
    if _COMMENT.search(finding.where.code()):
        return True
    at = f"{finding.where.file}:{finding.where.line}"
    return any(
        kind == finding.kind and (at == where or at.endswith(os.sep + where)) for kind, where in ignore
    )


def read_ignored(given: Iterable[Ignored]) -> tuple[Ignored, ...]:
    """What ``ignore=`` was given, checked.

    Raises:
        SpecError: not pairs of a known kind and ``file.py:line``.
    """
    read = []
    for one in given:
        try:
            kind, where = one
            file, _, line = where.rpartition(":")
        except (TypeError, ValueError, AttributeError):
            raise SpecError(f"ignore takes pairs like ('cut', 'file.py:42'), not {one!r}.") from None
        if kind not in KINDS:
            raise SpecError(unknown("kind", kind, KINDS))
        if not (file and line.isdigit()):
            raise SpecError(f"ignore takes a place like 'file.py:42', not {where!r}.")
        read.append((kind, where))
    return tuple(read)
