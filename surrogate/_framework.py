"""The framework behind a backend."""

from __future__ import annotations

import importlib
import re
import warnings

from surrogate._backend import Backend
from surrogate._errors import SurrogateWarning


def framework_version(backend: Backend) -> str:
    """The version of a backend's framework, ``"?"`` if it does not say."""
    try:
        return str(importlib.import_module(backend.framework).__version__)
    except (ImportError, AttributeError):
        pass  # autograd says it in its metadata only
    from importlib import metadata  # slow to import, and not needed before

    try:
        return metadata.version(backend.framework)
    except metadata.PackageNotFoundError:
        return "?"


def warn_if_newer(backend: Backend) -> None:
    """Say so where the framework is a newer minor release than any that the backend was tested with."""
    version = framework_version(backend)
    installed, tested = _minors(version), _minors(backend.tested)
    if installed and tested and installed[0] > max(tested):
        warnings.warn(
            f"{backend.framework} {version} is newer than what the backend {backend.name!r} was tested with "
            f"({backend.tested}). It has every part that the backend needs; what those do may have changed. "
            f"To find out here: surrogate check {backend.name}",
            SurrogateWarning,
            stacklevel=3,
        )


def _minors(text: str) -> list[tuple[int, int]]:
    """The versions that a text names, to the minor release."""
    return [(int(major), int(minor)) for major, minor in re.findall(r"(?<![\d.])(\d+)\.(\d+)", text)]
