"""Whether the costs are what they were, within generous bounds: for a scheduled workflow on a shared machine.

    python benchmarks/gates.py NAME=FILE.json ...     # what bench_NAME.py --json FILE.json wrote

The bounds are in ``gates.toml``, one table for each benchmark: a pattern of names of numbers, and what each
of them may be at most. They are wide enough that noise does not trip them, only a cost of another order.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

BOUNDS = Path(__file__).with_suffix(".toml")


def numbers(found: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """Every number in what a benchmark wrote, by the words on the way to it: ``"rows: sign: ratio"``."""
    if isinstance(found, list):  # the rows of a table, each named by its texts
        for row in found:
            texts = (value for value in row.values() if isinstance(value, str))
            yield from numbers(row, _joined(name, *texts))
    elif isinstance(found, dict):
        for key, value in found.items():
            yield from numbers(value, _joined(name, key))
    elif isinstance(found, int | float):
        yield name, float(found)


def _joined(*words: str) -> str:
    return ": ".join(filter(None, words))


def check(found: Any, bounds: Mapping[str, float]) -> list[str]:
    """What is out of bounds, a sentence each; a bound that is about no number is, too."""
    measured = list(numbers(found))
    wrong = []
    for pattern, bound in bounds.items():
        concerned = [(name, value) for name, value in measured if fnmatchcase(name, pattern)]
        if not concerned:
            wrong.append(f"no number is named {pattern!r}")
        wrong += [
            f"{name} is {value:.3g}, which is not at most {bound:g}"
            for name, value in concerned
            if not value <= bound  # a NaN is out of bounds
        ]
    return wrong


def main(arguments: list[str]) -> int:
    """Say what is out of bounds; 0 if nothing is."""
    every = tomllib.loads(BOUNDS.read_text())
    wrong = []
    for argument in arguments:
        name, _, file = argument.partition("=")
        if name not in every or not file:
            sys.exit(f"{argument!r} is not NAME=FILE with a NAME of {', '.join(every)}")
        found = check(json.loads(Path(file).read_text()), every[name])
        print(f"{name}: {len(every[name])} bounds, {len(found)} broken", *found, sep="\n  ")
        wrong += found
    return 1 if wrong or not arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
