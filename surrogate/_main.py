"""The entry point of the command ``surrogate``: says what is missing before anything is imported from it."""

from __future__ import annotations

import io
import os
import sys

from surrogate._errors import MissingExtraError
from surrogate._extras import extra_module
from surrogate._namesake import overwritten


def main() -> None:
    """Run the command line and exit with its status; Ctrl-C, also while something is imported, ends it."""
    try:
        _run()
    except KeyboardInterrupt:
        sys.exit("Aborted!")
    finally:
        _flush()


def _flush() -> None:
    """Write what is left of the output here, where failing to can be told in one line."""
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing more to be flushed at exit
        sys.exit(f"Error: cannot write the output: {error.strerror}.")


def _run() -> None:
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
