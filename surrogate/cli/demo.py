"""``surrogate demo``: a network that cannot learn natively learns under an override."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from surrogate.cli._console import print_json, progress, results
from surrogate.cli._picture import FILE, check_file
from surrogate.cli._rules import read_rules
from surrogate.demo.runner import Report, run


@click.command(short_help="Train one network twice: native, and under an override.")
@click.option("--backend", default="autograd", show_default=True, help="Whose framework to train with.")
@click.option(
    "--rules",
    multiple=True,
    callback=read_rules,
    metavar="OP=GRADIENT",
    help="A gradient to use, as in --rules 'sign=tanh(slope=2)'; may be repeated.",
)
@click.option("--epochs", type=click.IntRange(min=1), default=30, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--compile", "compiled", is_flag=True, help="Compile the training step.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, and draw only with --output.")
@click.option(
    "--output",
    type=FILE,
    help="The picture's file.  [default: surrogate-demo.png]",
)
def demo(
    backend: str,
    rules: dict[str, str],
    epochs: int,
    seed: int,
    compiled: bool,
    as_json: bool,
    output: Path | None,
) -> None:
    """Train a binarised and quantised network on handwritten digits, twice.

    The network is plain code of its framework, built on sign and round. Natively their gradients are 0, and
    it learns nothing, and an audit says why; under surrogate.override the same code learns.
    """
    if output is None and not as_json:
        output = Path("surrogate-demo.png")
    if output is not None:
        check_file(output, extra="demo", purpose="the demo's picture")
    bars = Progress(
        TextColumn("{task.description:<9}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total} epochs  {task.fields[accuracy]:.1%} right"),
        TimeElapsedColumn(),
        console=progress(),
        disable=as_json,
    )
    with bars, redirect_stdout(sys.stderr):  # a framework that prints must not end up in the results
        tasks: dict[str, TaskID] = {}

        def on_epoch(name: str, accuracy: float) -> None:
            if name not in tasks:  # not before: nothing is drawn for arguments that are refused
                tasks[name] = bars.add_task(name, total=epochs, accuracy=0.0)
            bars.update(tasks[name], advance=1, accuracy=accuracy)

        report = run(backend, rules, epochs=epochs, seed=seed, compiled=compiled, on_epoch=on_epoch)
    if as_json:
        print_json({**report.plain(), "picture": None if output is None else str(output)})
    else:
        _print(report, results())
    if output is not None:  # last: what was trained is told even where the picture cannot be written
        from surrogate.demo.picture import save

        save(report, output)
        if not as_json:
            results().print(f"The picture is in {escape(str(output))}.", soft_wrap=True)


def _print(report: Report, console: Console) -> None:
    console.print(report.audit)
    table = Table(title=f"Handwritten digits with {report.framework} {report.version}", title_justify="left")
    table.add_column("training")
    for heading in ("test accuracy", "weights that got a gradient", "seconds"):
        table.add_column(heading, justify="right")
    for name, one in (("native", report.native), ("surrogate", report.surrogate)):
        table.add_row(name, f"{one.accuracy:.1%}", f"{one.reached:.0%}", f"{one.seconds:.1f}")
    console.print(table)
    console.print(f"Untrained, the network is right for {report.native.untrained:.1%} of the test images.")
    rules = ", ".join(gradient.id for gradient in report.rules.values()) or "none"
    console.print(f"Gradients in force in the second training: {escape(rules)}.")
    unmet = [op for op in report.rules if not report.hits[op]]
    if unmet:
        console.print(
            f"The network has no {escape(', '.join(unmet))}: what was asked for it changed nothing."
        )
