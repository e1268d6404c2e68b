"""docs/promises.md, written from the conformance kit: each promise with the checks that test it.

``python docs/generate_promises.py`` writes the page; a test compares it with the kit.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import surrogate
from surrogate.testing._plan import CLAIMS, Check, plan
from surrogate.testing._promises import TWELVE, Promise

ROOT = Path(__file__).parents[1]
PAGE = Path(__file__).with_name("promises.md")

HEAD = """\
# Guarantees

Twelve promises that every backend keeps, and the checks of the conformance kit that test each one.
Docstrings cite them by number. One check alone: `surrogate check torch --promise vjp`; all of them:
`surrogate check torch`. The [support matrix](matrix.md) has the results.

This page is written from the kit by `docs/generate_promises.py`; a test compares them.
"""


def page() -> str:
    """The page's text."""
    checks = everything()
    return "\n".join([HEAD, *(line for promise in TWELVE for line in section(promise, checks))])


def everything() -> list[Check]:
    """The checks of a backend that claims all there is."""
    claims: Any = SimpleNamespace(
        ops=frozenset(surrogate.ops()),
        transforms=frozenset(CLAIMS),
        dtypes=("float32", "float64"),
        xp=None,
        driver=lambda: SimpleNamespace(spellings=lambda op: {op: None}),
    )
    return plan(claims)


def section(promise: Promise, checks: list[Check]) -> Iterator[str]:
    """One promise: what it says, and a row per check function."""
    yield f"(promise-{promise.number})="
    yield f"## {promise.number}. {promise.title}"
    yield ""
    yield promise.text
    yield ""
    yield "| check | what it tests | where |"
    yield "| --- | --- | --- |"
    for name, function in functions(promise, checks).items():
        path = Path(inspect.getsourcefile(function) or "").relative_to(Path(surrogate.__file__).parents[1])
        says = " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())
        text = re.sub(r"^Promises? [\d and]+[:,] ", "", says).replace("``", "`")
        yield f"| `{name}` | {text[:1].upper()}{text[1:]} | `{path.as_posix()}`, `{function.__name__}` |"
    yield ""


def functions(promise: Promise, checks: list[Check]) -> dict[str, Any]:
    """The check functions of a promise, each once, under the name that ``--promise`` takes."""
    found: dict[str, Any] = {}
    for check in checks:
        if check.promise in promise.checks or check.id in promise.checks:
            known = [name for name, function in found.items() if function is check.function]
            if not known:
                alone = check.promise == check.function.__name__
                found[check.promise if alone else f"{check.promise}: {check.function.__name__}"] = (
                    check.function
                )
    return found


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
