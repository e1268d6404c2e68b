"""Overrides from outside of a program: a file of rules, and ``SURROGATE_RULES`` in the environment.

The variable holds ``"sign=hardtanh; round=identity"``, or the path of a TOML file. It is read by the first
``import surrogate`` of a process; a process that never imports it reads it if :data:`HOOK` is on
``PYTHONPATH``, which Python looks through for a ``sitecustomize`` when it starts.
"""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from surrogate._arrival import when_imported
from surrogate._errors import SpecError, SurrogateError
from surrogate._override import Override, use
from surrogate._plugins import backends

NAME = "SURROGATE_RULES"
#: A folder with nothing in it but a ``sitecustomize`` that imports this library.
HOOK = Path(__file__).parent / "_sitecustomize"

_watching: list[ExitStack] = []
_OPTIONS = ("within", "outside")
_ASSIGNMENT = re.compile(r"(?P<op>[<>=!]=|[^=]*[^=\s])\s*=(?P<spec>.+)", re.DOTALL)


def read_assignments(given: Sequence[str]) -> dict[str, str]:
    """``["sign=tanh(slope=2)", ...]`` as a mapping.

    Raises:
        SpecError: one is not of that form, or an op is given twice.
    """
    rules: dict[str, str] = {}
    for text in given:
        match = _ASSIGNMENT.fullmatch(text.strip())
        if match is None:
            raise SpecError(f"{text!r} is not of the form op=gradient, as in 'sign=tanh(slope=2)'.")
        op, spec = match["op"].strip(), match["spec"].strip()
        if op in rules:
            raise SpecError(f"{op!r} is given twice: {rules[op]!r} and {spec!r}.")
        rules[op] = spec
    return rules


def read_file(path: str | Path) -> tuple[dict[str, str], dict[str, Any]]:
    """The rules of a TOML file, and its ``within`` and ``outside``.

    Raises:
        SpecError: it cannot be read, or has something else in it.
    """
    try:
        found = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SpecError(f"cannot read the rules in {str(path)!r}: {error}.") from error
    rules = found.pop("rules", {})
    options = {name: found.pop(name) for name in _OPTIONS if name in found}
    if found or not isinstance(rules, Mapping) or not all(isinstance(spec, str) for spec in rules.values()):
        raise SpecError(
            f'{str(path)!r} is no file of rules: it has a table [rules] with lines like sign = "hardtanh", '
            "and before it, where wanted, within = [...] and outside = [...]."
        )
    return dict(rules), options


def read_text(text: str) -> tuple[dict[str, str], dict[str, Any]]:
    """What the variable says: assignments with semicolons between them, or the path of a file."""
    if text.strip().endswith(".toml"):
        return read_file(text.strip())
    return read_assignments([part for part in text.split(";") if part.strip()]), {}


def follow_imports(
    names: Sequence[str],
    rules: Mapping[str, str] | None,
    options: Mapping[str, Any],
    put: Callable[[Override], None],
    refused: Callable[[str, SurrogateError], None],
) -> ExitStack:
    """Put rules in force in each framework as soon as it is imported.

    Args:
        names: backends.
        rules, options: as for :func:`surrogate.use`.
        put: called with each override.
        refused: called where a backend cannot have them.

    Returns:
        What ends the watching when it is closed.
    """

    def arrived(name: str) -> None:
        try:
            put(use(name, rules, **options))
        except SurrogateError as error:
            refused(name, error)

    stack = ExitStack()
    stack.enter_context(when_imported(names, arrived))
    return stack


def obey() -> None:
    """Obey the variable in this process, and say so on standard error."""
    text = os.environ.get(NAME, "")
    rules, options = read_text(text)
    print(f"surrogate: {NAME}={text}: in force in each framework that is imported", file=sys.stderr)  # noqa: T201
    _watching.append(follow_imports(backends(), rules or None, options, lambda override: None, _refused))


def _refused(name: str, error: SurrogateError) -> None:
    print(f"surrogate: {NAME} is not in force in {name}: {error}", file=sys.stderr)  # noqa: T201
