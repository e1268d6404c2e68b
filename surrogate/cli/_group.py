"""The group of commands: near names for unknown ones, and our errors as one clean message."""

from __future__ import annotations

import errno
import warnings
from typing import Any, TextIO

import click

from surrogate._errors import (
    ParameterError,
    SpecError,
    SurrogateError,
    SurrogateWarning,
    UnknownNameError,
    UnsupportedOpError,
)
from surrogate._suggest import unknown
from surrogate.demo.runner import NoCompilerError

#: What the system says of a place that cannot be written to.
_UNWRITABLE = (errno.EACCES, errno.EDQUOT, errno.ENOSPC, errno.EPERM, errno.EROFS)

#: Errors that say that an argument was wrong: exit status 2, as for click's own.
_BAD_ARGUMENT = (UnknownNameError, SpecError, ParameterError, UnsupportedOpError, NoCompilerError)


class Failure(click.ClickException):
    """An error of this library, shown as its message alone."""

    def __init__(self, error: SurrogateError) -> None:
        super().__init__(str(error))


class Unwritable(click.ClickException):
    """A file, or the output itself, that cannot be written: the disk is full, or it is read-only."""

    def __init__(self, error: OSError) -> None:
        what = error.filename or "the output"
        super().__init__(f"cannot write {what}: {error.strerror or error}.")


class BadArgument(Failure):
    """An error of this library that an argument caused."""

    exit_code = 2


class Group(click.Group):
    """Commands that never end in a traceback for what a user can cause."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that was asked for, or an error with the nearest name."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(unknown("command", args[0], self.list_commands(ctx)), ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; errors and warnings of this library become one line on stderr."""
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            try:
                return super().invoke(ctx)
            except SurrogateError as error:
                kind = BadArgument if isinstance(error, _BAD_ARGUMENT) else Failure
                raise kind(error) from error
            except OSError as error:
                if error.errno not in _UNWRITABLE:
                    raise
                raise Unwritable(error) from error


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    if issubclass(category, SurrogateWarning):
        click.echo(f"Warning: {message}", err=True)
    else:
        click.echo(warnings.formatwarning(message, category, filename, lineno, line), err=True, nl=False)
