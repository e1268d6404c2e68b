"""What a failed check says: one sentence, and the numbers that are wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

#: Rows of numbers kept of one failure; the count is always of all.
SHOWN = 12


class BrokenPromiseError(AssertionError):
    """A backend does not keep a promise.

    Attributes:
        message: what is wrong, in one sentence.
        numbers: up to 12 rows of failing numbers, each a mapping from column to text.
        wrong, checked: how many numbers are wrong, of how many.
    """

    def __init__(
        self,
        message: str,
        numbers: Sequence[Mapping[str, str]] = (),
        wrong: int = 0,
        checked: int = 0,
    ) -> None:
        self.message = message
        self.numbers = [dict(row) for row in numbers]
        self.wrong = wrong
        self.checked = checked
        count = f" ({wrong} of {checked} numbers)" if checked else ""
        super().__init__(message + count + "".join(f"\n    {_line(row)}" for row in self.numbers))


class Inapplicable(Exception):  # noqa: N818 - no error: there is nothing to check
    """The framework itself has no such thing, with or without us: reported so, and not as passed."""


def _line(row: Mapping[str, str]) -> str:
    return "  ".join(f"{name}={value}" for name, value in row.items())


def demand(condition: object, message: str) -> None:
    """Fail with ``message`` unless ``condition`` holds."""
    if not condition:
        raise BrokenPromiseError(message)


def demand_equal(got: object, expected: object, message: str) -> None:
    """Fail unless ``got == expected``, and say both."""
    if got != expected:
        raise BrokenPromiseError(f"{message}: got {got!r}, expected {expected!r}.")


def demand_all(good: Any, message: str, columns: Mapping[str, Any]) -> None:
    """Fail unless ``good`` holds everywhere, listing the columns where it does not."""
    good = np.asarray(good)
    wrong = np.flatnonzero(~good.ravel())
    if not wrong.size:
        return
    flat = {name: np.broadcast_to(column, good.shape).ravel() for name, column in columns.items()}
    plain = np.all([np.isfinite(column[wrong].astype(float)) for column in flat.values()], axis=0)
    wrong = np.concatenate([wrong[plain], wrong[~plain]])  # first those that one can reckon by hand
    rows = [{name: f"{float(column[i]):.9g}" for name, column in flat.items()} for i in wrong[:SHOWN]]
    raise BrokenPromiseError(message, rows, int(wrong.size), int(good.size))
