"""``surrogate show``: a gradient's formula, parameters, source, measures and curve."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import surrogate
from surrogate._curve import curve, held
from surrogate._gradient import Gradient
from surrogate._registry import registry
from surrogate.cli._chart import chart
from surrogate.cli._console import print_json, results
from surrogate.cli._facts import facts
from surrogate.cli._picture import FILE, check_file
from surrogate.cli._target import split
from surrogate.cli.plot import draw

#: Characters beside a chart, for the labels of its axis.
_MARGIN = 8


@click.command(short_help="Show one gradient: formula, parameters, curve.")
@click.argument("gradient")
@click.option("--png", type=FILE, help="Draw into a file.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(gradient: str, png: Path | None, as_json: bool) -> None:
    """Show a gradient, named as in sign:hardtanh or 'sign:hardtanh(width=2)'.

    With only an op (sign), list its gradients with the first line of each.
    """
    op, spec = split(gradient)
    found = surrogate.gradient(op, spec) if spec else None
    if png is not None:
        check_file(png, extra="plot", purpose="--png")
    if as_json:
        print_json(_plain_op(op) if found is None else _plain(found))
    else:
        _print_all(op, found, results(), chart=png is None)
    if png is not None:
        draw(op, spec, png)
        if not as_json:
            results().print(f"The picture is in {escape(str(png))}.", soft_wrap=True)


def _print_all(op: str, found: Gradient | None, console: Console, *, chart: bool) -> None:
    if found is None:
        _print_op(op, console)
        return
    _print(found, console)
    if chart:
        _print_curve(found, console)


def _plain_op(op: str) -> dict[str, Any]:
    known = surrogate.op(op)
    return {
        "op": op,
        "inputs": list(known.inputs),
        "doc": known.doc,
        "default": known.default,
        "gradients": {name: _first_line(op, name) for name in surrogate.gradients(op)},
    }


def _plain(gradient: Gradient) -> dict[str, Any]:
    points = curve(gradient)
    return {
        "id": gradient.id,
        "op": gradient.op.name,
        "doc": gradient.doc,
        "parameters": dict(gradient.params),
        "upstream": gradient.upstream,
        "facts": dict(facts(gradient)),
        "curve": {"x": points.x.tolist(), "derivative": points.slope.tolist()},
    }


def _first_line(op: str, name: str) -> str:
    return registry.formula(op, name).doc.partition("\n")[0]


def _print_op(op: str, console: Console) -> None:
    known = surrogate.op(op)
    console.print(f"[bold]{op}[/]({', '.join(known.inputs)}): {escape(known.doc)}", soft_wrap=True)
    first_lines = {name: _first_line(op, name) for name in surrogate.gradients(op)}
    console.print(
        _two_columns(
            (f"[bold]{name}[/]" if name == known.default else name, escape(line))
            for name, line in first_lines.items()
        )
    )


def _two_columns(rows: Iterable[tuple[str, str]]) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in rows:
        table.add_row(name, text)
    return table


def _print(gradient: Gradient, console: Console) -> None:
    console.print(f"[bold]{escape(gradient.id)}[/]", soft_wrap=True)
    console.print(escape(gradient.doc), soft_wrap=True)
    console.print()
    console.print(_two_columns((name, escape(text)) for name, text in facts(gradient)))


def _print_curve(gradient: Gradient, console: Console) -> None:
    points = curve(gradient)
    name = gradient.op.inputs[0]
    at = held(gradient.op)
    what = f"cotangent of {name} for g = 1" if gradient.upstream else f"derivative by {name}"
    console.print(f"\nThe {what}" + (f" at {at}" if at else ""))
    width = max(20, min(60, console.width - _MARGIN))
    for line in chart(points.x, points.slope, width=width, braille=console.encoding.startswith("utf")):
        console.print(line, soft_wrap=True)
