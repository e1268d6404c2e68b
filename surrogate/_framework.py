"""The framework behind a backend."""

from __future__ import annotations

import importlib
import importlib.metadata

from surrogate._backend import Backend


def framework_version(backend: Backend) -> str:
    """The version of a loaded backend's framework, ``"?"`` if it does not say."""
    try:
        return importlib.metadata.version(backend.framework)
    except importlib.metadata.PackageNotFoundError:  # tensorflow comes from tensorflow-cpu, for instance
        return str(getattr(importlib.import_module(backend.framework), "__version__", "?"))
