"""``surrogate check``: the conformance kit on one installed backend."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout

import click
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

import surrogate
from surrogate._extras import extra_module
from surrogate._plugins import load_backend
from surrogate.cli._console import print_json, progress

#: How many lines of failures are printed unless --all is given.
_LINES = 60


@click.command(short_help="Check a backend against the reference.")
@click.argument("backend")
@click.option("--op", "ops", multiple=True, help="Only checks of this op; may be repeated.")
@click.option("--promise", "promises", multiple=True, help="Only this promise, as vjp; may be repeated.")
@click.option("--all", "every", is_flag=True, help="Print every failure, however many there are.")
@click.option("--device", help="Where the arrays lie, by the framework's name of it, as cuda.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(
    backend: str,
    ops: tuple[str, ...],
    promises: tuple[str, ...],
    every: bool,
    device: str | None,
    as_json: bool,
) -> None:
    """Check everything that BACKEND claims against the reference, and print the results.

    Ends with status 1 if a check fails or there was nothing to check, with 2 for an op that BACKEND refuses.
    """
    found = load_backend(backend)  # an unknown or missing one is told before the kit is imported
    chosen = {surrogate.op(op).name for op in ops}
    for op in sorted(chosen - found.ops):
        reason = found.unsupported.get(op, "it does not list it among its ops")
        raise surrogate.UnsupportedOpError(f"nothing to check: {backend!r} refuses {op!r}: {reason}.")
    testing = extra_module("surrogate.testing", extra="testing", purpose="surrogate check")
    bars = Progress(
        TextColumn("{task.completed}/{task.total}"),
        BarColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=progress(),
        transient=True,
    )
    with bars, redirect_stdout(sys.stderr):
        task = bars.add_task("planning", total=None)
        report = testing.check_backend(
            found,
            ops=chosen or None,
            promises=set(promises) or None,
            device=device,
            progress=lambda one, number, total: bars.update(
                task, completed=number, total=total, description=one.id
            ),
        )
    if as_json:
        print_json(report.to_json())
    else:
        _print(str(report).splitlines(), every=every)
    if not report.ok:
        sys.exit(1)


def _print(lines: list[str], *, every: bool) -> None:
    shown = lines if every else lines[:_LINES]
    for line in shown:
        click.echo(line)
    if len(shown) < len(lines):
        click.echo(f"... and {len(lines) - len(shown)} more lines: --all prints them.")
