"""Packages that only an extra installs: imported when needed, with the command when they are missing."""

from __future__ import annotations

import importlib
from typing import Any

from surrogate._errors import MissingExtraError

DISTRIBUTION = "surrogate-gradients"


def install_command(extra: str) -> str:
    """``pip install "surrogate-gradients[cli]"``"""
    return f'pip install "{DISTRIBUTION}[{extra}]"'


def extra_module(module: str, *, extra: str, purpose: str) -> Any:
    """Import a module of an extra.

    Raises:
        MissingExtraError: its package is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if (error.name or "").partition(".")[0] != package:
            raise
        raise MissingExtraError(
            f"{purpose} needs the package {package!r}, which is not installed. "
            f"Install it with: {install_command(extra)}"
        ) from error
