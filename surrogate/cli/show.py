"""``surrogate show``: a gradient's formula, parameters, source, measures and curve."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import surrogate
from surrogate._curve import OTHERS, curve
from surrogate._gradient import Gradient
from surrogate._registry import registry
from surrogate.cli._chart import chart
from surrogate.cli._console import results
from surrogate.cli._facts import facts
from surrogate.cli._picture import FILE, check_file
from surrogate.cli._target import split
from surrogate.cli.plot import draw


@click.command()
@click.argument("gradient")
@click.option("--png", type=FILE, help="Draw into a file.")
def show(gradient: str, png: Path | None) -> None:
    """Show a gradient, named as in sign:hardtanh or 'sign:hardtanh(width=2)'.

    With only an op (sign), list its gradients with the first line of each.
    """
    op, spec = split(gradient)
    console = results()
    if not spec:
        _print_op(op, console)
        return
    found = surrogate.gradient(op, spec)
    if png is not None:
        check_file(png, extra="plot", purpose="--png")
    _print(found, console)
    if png is None:
        _print_curve(found, console)
    else:
        draw(op, spec, png)
        console.print(f"The picture is in {escape(str(png))}.", soft_wrap=True)


def _print_op(op: str, console: Console) -> None:
    known = surrogate.op(op)
    console.print(f"[bold]{op}[/]({', '.join(known.inputs)}): {escape(known.doc)}", soft_wrap=True)
    first_lines = {
        name: registry.formula(op, name).doc.partition("\n")[0] for name in surrogate.gradients(op)
    }
    console.print(
        _two_columns(
            (f"[bold]{name}[/]" if name == known.default else name, escape(line))
            for name, line in first_lines.items()
        )
    )


def _two_columns(rows: Iterable[tuple[str, str]]) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
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
    held = zip(gradient.op.inputs[1:], OTHERS.get(gradient.op.name, ()), strict=True)
    at = ", ".join(f"{other}={value:g}" for other, value in held)
    what = f"cotangent of {name} for g = 1" if gradient.upstream else f"derivative by {name}"
    console.print(f"\nThe {what}" + (f" at {at}" if at else ""))
    for line in chart(points.x, points.slope):
        console.print(line, soft_wrap=True)
