"""The option that names a picture's file, checked before anything is computed."""

from __future__ import annotations

from pathlib import Path

import click

from surrogate._extras import extra_module

#: The type of such an option.
FILE = click.Path(dir_okay=False, writable=True, path_type=Path)


def check_file(path: Path, *, extra: str, purpose: str) -> None:
    """Refuse a file that could not be drawn into.

    Raises:
        MissingExtraError: matplotlib is not installed.
        click.BadParameter: its folder does not exist or cannot be written, or matplotlib does not know its
            format.
    """
    canvas = extra_module("matplotlib.backend_bases", extra=extra, purpose=purpose).FigureCanvasBase
    if not path.parent.is_dir():
        raise click.BadParameter(f"the folder {str(path.parent)!r} does not exist.")
    if path.suffix[1:].lower() not in canvas.filetypes:
        known = ", ".join(sorted(canvas.filetypes))
        raise click.BadParameter(f"{str(path)!r} must end in one of: {known}.")
    _try_to_write(path)


def _try_to_write(path: Path) -> None:
    """Open the file as it will be opened later: permissions alone do not tell, as on a read-only disk."""
    existed = path.exists()
    try:
        with path.open("ab"):
            pass
    except OSError as error:
        raise click.BadParameter(f"{str(path)!r} cannot be written: {error.strerror}.") from error
    if not existed:
        path.unlink()
