"""``surrogate check``: the conformance kit on one installed backend."""

from __future__ import annotations

import sys

import click

from surrogate._extras import extra_module


@click.command()
@click.argument("backend")
def check(backend: str) -> None:
    """Check everything that BACKEND claims against the reference, and print what holds.

    Ends with status 1 if a check fails.
    """
    testing = extra_module("surrogate.testing", extra="testing", purpose="surrogate check")
    report = testing.check_backend(backend)
    click.echo(str(report))
    if not report.passed:
        sys.exit(1)
