"""``surrogate check``: the conformance kit on one installed backend."""

from __future__ import annotations

import sys

import click

from surrogate._extras import extra_module
from surrogate._plugins import load_backend


@click.command()
@click.argument("backend")
def check(backend: str) -> None:
    """Check everything that BACKEND claims against the reference, and print what holds.

    Ends with status 1 if a check fails.
    """
    found = load_backend(backend)  # an unknown or missing one is told before the kit is imported
    testing = extra_module("surrogate.testing", extra="testing", purpose="surrogate check")
    report = testing.check_backend(found.name)
    click.echo(str(report))
    if not report.passed:
        sys.exit(1)
