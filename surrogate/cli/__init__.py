"""The command ``surrogate``: one small file per command. Needs the extra ``cli`` (click, rich)."""

from __future__ import annotations

import click

import surrogate
from surrogate.cli._group import Group
from surrogate.cli.audit import audit
from surrogate.cli.check import check
from surrogate.cli.demo import demo
from surrogate.cli.doctor import doctor
from surrogate.cli.list import list_
from surrogate.cli.plot import plot
from surrogate.cli.run import run
from surrogate.cli.show import show

__all__ = ["cli"]


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(surrogate.__version__, prog_name="surrogate")
def cli() -> None:
    """Surrogate gradients by name, for unmodified TensorFlow, PyTorch, JAX and autograd code."""


for command in (demo, list_, show, plot, audit, run, doctor, check):
    cli.add_command(command)
