"""``surrogate plot``: all gradients of an op, or of every op, in one picture."""

from __future__ import annotations

from pathlib import Path

import click

from surrogate._extras import extra_module
from surrogate.cli._target import split


@click.command()
@click.argument("op", required=False)
@click.option("--all", "every", is_flag=True, help="Every op, on one page.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="The file; its suffix decides the format.  [default: OP.png, or gallery.png]",
)
def plot(op: str | None, every: bool, output: Path | None) -> None:
    """Draw all gradients of OP over its forward, or with --all those of every op.

    OP may also be a single gradient, as in 'sign:tanh(slope=2)'.
    """
    if (op is None) != every:
        raise click.UsageError("give either an op, as in 'surrogate plot sign', or --all.")
    target = None if op is None else split(op)
    extra_module("matplotlib", extra="plot", purpose="surrogate plot")
