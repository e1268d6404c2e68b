"""Where results and progress are written, and the marks that tables use."""

from __future__ import annotations

import json
from typing import Any

import click
from rich.console import Console


def results() -> Console:
    """For what was asked for: stdout."""
    return Console(highlight=False, soft_wrap=False)


def progress() -> Console:
    """For what only accompanies it: stderr."""
    return Console(stderr=True, highlight=False)


def print_json(data: Any) -> None:
    """Write machine-readable results, and nothing else, to stdout."""
    click.echo(json.dumps(data, indent=2))
