"""``surrogate doctor``: every plugin, whether it loads and, if not, why."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import groupby

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import surrogate
from surrogate import _namesake
from surrogate.cli._console import print_json, progress, results
from surrogate.cli._inspection import Inspection, inspect_all, rivals

_STYLES = {"loads": "green", "broken": "bold red", "incompatible": "bold red"}


@click.command(short_help="Load every installed plugin and say what is wrong.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--hooks", is_flag=True, help="Also list the private hooks that each backend has probed.")
def doctor(as_json: bool, hooks: bool) -> None:
    """Load every installed plugin, each in a process of its own, and say what is wrong.

    Ends with status 1 if a plugin whose framework is installed does not load, or if the unrelated
    distribution named "surrogate" is in the way. A framework that is not installed is no fault.
    """
    with progress().status("loading every plugin"):
        inspections = inspect_all()
    problems = rivals()
    namesake = _namesake.installed()
    if as_json:
        print_json(
            {
                "version": surrogate.__version__,
                "python": sys.version.split()[0],
                "plugins": [one.plain() for one in inspections],
                "warnings": problems,
                "namesake": namesake,
            }
        )
    else:
        _print(inspections, problems, namesake, results(), hooks=hooks)
    if namesake is not None or any(one.faulty for one in inspections):
        sys.exit(1)


def _print(
    inspections: Sequence[Inspection],
    problems: Sequence[str],
    namesake: str | None,
    console: Console,
    *,
    hooks: bool,
) -> None:
    console.print(f"surrogate-gradients {surrogate.__version__} on Python {sys.version.split()[0]}")
    for group, members in groupby(inspections, lambda one: one.group):
        table = Table(title=group, title_justify="left")
        for heading in ("plugin", "from", "framework", "checked on", "state"):
            table.add_column(heading, overflow="fold")
        for one in members:
            style = _STYLES.get(one.state, "yellow")
            table.add_row(
                one.name,
                f"{one.distribution} {one.version}",
                f"{one.framework} {one.framework_version}".strip() or "-",
                one.tested or "-",
                f"[{style}]{one.state}[/]",
            )
        console.print(table)
    for one in inspections:
        if one.reason:
            console.print(f"{one.name}: {escape(one.reason)}", soft_wrap=True)
        if hooks and one.hooks:
            console.print(f"\n{one.name} has found these private hooks:\n{escape(one.hooks)}", soft_wrap=True)
    for problem in [*problems, *([namesake] if namesake else [])]:
        console.print(f"[bold red]{escape(problem)}[/]", soft_wrap=True)
