"""``surrogate plot``: all gradients of an op, or of every op, in one picture."""

from __future__ import annotations

from pathlib import Path

import click

from surrogate import plot as drawing
from surrogate.cli._picture import FILE, check_file
from surrogate.cli._target import split


@click.command(short_help="Draw the gradients of an op into a file.")
@click.argument("op", required=False)
@click.option("--all", "every", is_flag=True, help="Every op, on one page.")
@click.option(
    "-o",
    "--output",
    type=FILE,
    help="The file; its suffix decides the format.  [default: OP.png, or gallery.png]",
)
def plot(op: str | None, every: bool, output: Path | None) -> None:
    """Draw all gradients of OP over its forward, or with --all those of every op.

    OP may also be a single gradient, as in 'sign:tanh(slope=2)'.
    """
    if (op is None) != every:
        raise click.UsageError("give either an op, as in 'surrogate plot sign', or --all.")
    target = ("gallery", "") if op is None else split(op)
    path = output or Path(f"{target[0]}.png")
    check_file(path, extra="plot", purpose="surrogate plot")
    if every:
        drawing.gallery(path)
    else:
        draw(*target, path)
    click.echo(f"The picture is in {path}.")


def draw(op: str, spec: str, path: Path) -> None:
    """Draw one gradient into a file; all gradients of the op if the spec is empty."""
    from matplotlib.figure import Figure  # not pyplot: no window, and no figure that stays in memory

    figure = Figure(figsize=(6.4, 4.0) if spec else (9.0, 5.2), layout="constrained")
    if spec:
        drawing.gradient(op, spec, ax=figure.add_subplot())
    else:
        drawing.op(op, ax=figure.add_subplot())
    figure.savefig(path, dpi=150)
