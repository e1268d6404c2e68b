"""``surrogate plot``: all gradients of an op, or of every op, in one picture."""

from __future__ import annotations

import importlib
from pathlib import Path

import click

import surrogate
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
@click.option("--dark", is_flag=True, help="Light lines on a dark background.")
def plot(op: str | None, every: bool, output: Path | None, dark: bool) -> None:
    """Draw all gradients of OP over its forward, or with --all those of every op.

    OP may also be a single gradient, as in 'sign:tanh(slope=2)'.
    """
    if (op is None) != every:
        raise click.UsageError("give either an op, as in 'surrogate plot sign', or --all.")
    target = ("gallery", "") if op is None else split(op)
    path = output or Path(f"{target[0]}.png")
    check_file(path, extra="plot", purpose="surrogate plot")
    style = importlib.import_module("matplotlib.style")
    with style.context("dark_background" if dark else "default"):
        if every:
            drawing.gallery(path)
        else:
            draw(*target, path)
    click.echo(f"The picture is in {path}.")


def draw(op: str, spec: str, path: Path, *, dpi: int = 150) -> None:
    """Draw one gradient into a file, a panel per input; all gradients of the op if the spec is empty."""
    from matplotlib.figure import Figure  # not pyplot: no window, and no figure that stays in memory

    inputs = surrogate.op(op).inputs
    width, height = (6.4, 4.0) if spec else (9.0, 5.2)
    figure = Figure(figsize=(width, height * len(inputs)), layout="constrained")
    for ax, by in zip(figure.subplots(len(inputs), squeeze=False)[:, 0], inputs, strict=True):
        if spec:
            drawing.gradient(op, spec, ax=ax, by=by)
        else:
            drawing.op(op, ax=ax, by=by)
    figure.savefig(path, dpi=dpi)
