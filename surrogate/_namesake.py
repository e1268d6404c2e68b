"""PyPI's ``surrogate`` is an unrelated library that installs the same import name. This notices it."""

from __future__ import annotations

import surrogate
from surrogate._extras import DISTRIBUTION

NAMESAKE = "surrogate"

_REPAIR = f"pip uninstall {NAMESAKE} && pip install --force-reinstall --no-deps {DISTRIBUTION}"


def overwritten() -> str | None:
    """What to do if the other library's ``surrogate/__init__.py`` lies where ours was; else None."""
    if hasattr(surrogate, "register_backend"):
        return None
    return (
        f"the unrelated distribution {NAMESAKE!r} has overwritten files of {DISTRIBUTION!r}: both install "
        f"the import name 'surrogate'. Repair it with: {_REPAIR}"
    )


def installed() -> str | None:
    """What to do if the other library is installed at all; else None.

    As long as it is, installing or removing it overwrites or deletes files of ours.
    """
    from importlib import metadata  # slow to import, and not needed before

    try:
        version = metadata.version(NAMESAKE)
    except metadata.PackageNotFoundError:
        return None
    return (
        f"the unrelated distribution {NAMESAKE!r} {version} is installed; it and {DISTRIBUTION!r} use the "
        f"same import name and overwrite each other's files. Remove it with: {_REPAIR}"
    )
