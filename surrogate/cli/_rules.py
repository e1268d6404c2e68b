"""The option ``--rules op=spec``."""

from __future__ import annotations

import click

from surrogate._environment import read_assignments
from surrogate._errors import SpecError


def read_rules(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """``("sign=tanh(slope=2)", ...)`` as a mapping; what it names is checked later, by the core."""
    try:
        return read_assignments(given)
    except SpecError as error:
        raise click.BadParameter(str(error)) from error
