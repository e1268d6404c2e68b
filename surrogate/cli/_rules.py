"""The option ``--rules op=spec``."""

from __future__ import annotations

import click


def read_rules(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """``("sign=tanh(slope=2)", ...)`` as a mapping; what it names is checked later, by the core."""
    rules: dict[str, str] = {}
    for text in given:
        op, _, spec = (part.strip() for part in text.partition("="))
        if not (op and spec):
            raise click.BadParameter(f"{text!r} is not of the form op=gradient, as in 'sign=tanh(slope=2)'.")
        if op in rules:
            raise click.BadParameter(f"{op!r} is given twice: {rules[op]!r} and {spec!r}.")
        rules[op] = spec
    return rules
