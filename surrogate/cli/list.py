"""``surrogate list``: ops, their gradients, and which installed backend can capture them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

import surrogate
from surrogate._plugins import BACKENDS
from surrogate.cli._console import print_json, progress, results
from surrogate.cli._inspection import Inspection, inspect_all

#: Columns that a table of ops needs beside those of the backends.
_TABLE = 42


@click.command(name="list", short_help="List ops, gradients and backends.")
@click.argument("op", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(op: str | None, as_json: bool) -> None:
    """List ops, their gradients, and the installed backends that can capture them.

    With OP, only that op, and also its presets: other libraries' choices by name.
    """
    ops = surrogate.ops() if op is None else [surrogate.op(op).name]
    with progress().status("asking the installed backends"):
        backends = [one for one in inspect_all([BACKENDS], remembered=True) if one.state == "loads"]
    if as_json:
        print_json({name: _plain(name, backends) for name in ops})
    else:
        _print(ops, backends, results(), presets=op is not None)


def _plain(op: str, backends: Sequence[Inspection]) -> dict[str, Any]:
    return {
        "doc": surrogate.op(op).doc,
        "inputs": list(surrogate.op(op).inputs),
        "default": surrogate.op(op).default,
        "gradients": surrogate.gradients(op),
        "presets": surrogate.presets(op),
        "backends": {one.name: op in one.ops for one in backends},
    }


def _print(ops: Sequence[str], backends: Sequence[Inspection], console: Console, *, presets: bool) -> None:
    if console.width < _TABLE + sum(len(one.name) + 3 for one in backends):
        _print_narrow(ops, backends, console)
    else:
        console.print(_table(ops, backends))
    console.print("Bold: the recommended gradient, which surrogate.use(backend) installs.")
    for name in ops:
        for one in backends:
            if name in one.unsupported:
                console.print(f"{one.name}: no {name}: {escape(one.unsupported[name])}", soft_wrap=True)
        for preset, spec in surrogate.presets(name).items() if presets else ():
            console.print(f"{name}:{preset} is {escape(spec)}", soft_wrap=True)


def _print_narrow(ops: Sequence[str], backends: Sequence[Inspection], console: Console) -> None:
    """A paragraph per op, where a table would be cut."""
    for name in ops:
        able = ", ".join(one.name for one in backends if name in one.ops)
        console.print(f"[bold]{name}[/]  ({able or 'no installed backend'})")
        console.print(Padding("  ".join(_gradients(name)), (0, 0, 0, 2)))


def _gradients(op: str) -> list[str]:
    default = surrogate.op(op).default
    return [f"[bold]{name}[/]" if name == default else name for name in surrogate.gradients(op)]


def _table(ops: Sequence[str], backends: Sequence[Inspection]) -> Table:
    table = Table(show_lines=True)
    table.add_column("op", no_wrap=True)
    table.add_column("gradients", min_width=20, overflow="fold")
    for one in backends:
        table.add_column(one.name, justify="center", overflow="fold")
    for name in ops:
        marks = ["yes" if name in one.ops else "-" for one in backends]
        table.add_row(name, "  ".join(_gradients(name)), *marks)
    return table
