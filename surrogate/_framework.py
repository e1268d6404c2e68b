"""The framework behind a backend."""

from __future__ import annotations

import importlib
import importlib.metadata

from surrogate._backend import Backend


def framework_version(backend: Backend) -> str:
    """The version of a backend's framework, ``"?"`` if it does not say."""
    try:
        return str(importlib.import_module(backend.framework).__version__)
    except (ImportError, AttributeError):
        pass  # autograd says it in its metadata only
    try:
        return importlib.metadata.version(backend.framework)
    except importlib.metadata.PackageNotFoundError:
        return "?"
