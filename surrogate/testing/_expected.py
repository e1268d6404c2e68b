"""Expected failures: strict, with a reason, and never naming nothing."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping

from surrogate._backend import Backend
from surrogate._errors import SurrogateWarning
from surrogate.testing._plan import Check


class ConformanceWarning(SurrogateWarning):
    """An expected failure that names no check: it can never fail, so it hides nothing and says nothing."""


def declared(backend: Backend, more: Mapping[str, str]) -> dict[str, str]:
    """The expected failures that a backend declares, and more that whoever checks it knows of."""
    return {**backend.expected_failures, **more}


def match(patterns: Mapping[str, str], checks: Iterable[Check], owner: str) -> dict[str, str]:
    """Check id -> reason, for the checks that the patterns name.

    Warns:
        ConformanceWarning: a pattern names no check.

    Raises:
        TypeError: a pattern has no reason.
    """
    ids, reasons = [check.id for check in checks], {}
    for pattern, reason in patterns.items():
        if not isinstance(reason, str) or not reason.strip():
            raise TypeError(f"{owner}: the expected failure {pattern!r} needs a reason, not {reason!r}.")
        glob = re.compile("".join(_GLOB.get(c, re.escape(c)) for c in pattern))
        named = [name for name in ids if glob.fullmatch(name)]
        if not named:
            warnings.warn(
                f"{owner}: the expected failure {pattern!r} names no check of this backend.",
                ConformanceWarning,
                stacklevel=2,
            )
        reasons.update(dict.fromkeys(named, reason))
    return reasons


_GLOB = {"*": ".*", "?": "."}  # brackets are part of an id, not a set of characters
