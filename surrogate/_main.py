"""The entry point of the command ``surrogate``: says what is missing before anything is imported from it."""

from __future__ import annotations

import io
import sys

from surrogate._errors import MissingExtraError
from surrogate._extras import extra_module
from surrogate._namesake import overwritten


def main() -> None:
    """Run the command line and exit with its status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character is no reason to fail
    problem = overwritten()
    if problem is not None:
        sys.exit(problem)  # a text goes to stderr, with status 1
    try:
        for module in ("click", "rich"):
            extra_module(module, extra="cli", purpose="the command line")
    except MissingExtraError as error:
        sys.exit(str(error))
    from surrogate.cli import cli

    cli(prog_name="surrogate")


if __name__ == "__main__":
    main()
