"""Run as a process of its own by :mod:`surrogate.cli._inspection`: load one plugin and say how it went.

``python -m surrogate.cli._inspect GROUP NAME`` prints one line of JSON, the last of its output.
"""

from __future__ import annotations

import inspect
import json
import sys
from typing import Any

from surrogate import _plugins
from surrogate._backend import Backend
from surrogate._errors import BackendError, IncompatibleFrameworkError, MissingFrameworkError
from surrogate._framework import framework_version


def inspect_plugin(group: str, name: str) -> dict[str, Any]:
    """Load one plugin of an entry-point group."""
    if group == _plugins.PACKS:
        return _inspect_pack(name)
    try:
        return _describe(_plugins.load_backend(name))
    except BackendError as error:
        state = (
            "not installed"
            if isinstance(error, MissingFrameworkError)
            else "incompatible"
            if isinstance(error, IncompatibleFrameworkError)
            else "broken"
        )
        return {"state": state, "reason": str(error)}


def _describe(backend: Backend) -> dict[str, Any]:
    return {
        "state": "loads",
        "framework": backend.framework,
        "framework_version": framework_version(backend),
        "tested": backend.tested,
        "ops": sorted(backend.ops),
        "unsupported": dict(backend.unsupported),
        "transforms": sorted(backend.transforms),
        "hooks": _hooks(backend),
    }


def _hooks(backend: Backend) -> str:
    """What the plugin's file of private hooks, by convention ``_hooks.py``, says of itself.

    The table ``HOOKS``, of pairs of a name and what it is for; without one, the docstring.
    """
    package = type(backend).__module__.rpartition(".")[0]
    module = sys.modules.get(f"{package}._hooks")
    if module is None:
        return ""
    if not hasattr(module, "HOOKS"):
        return inspect.cleandoc(module.__doc__ or "")
    pairs = (
        hook if isinstance(hook, tuple) else (hook, getattr(hook, "purpose", "")) for hook in module.HOOKS
    )
    return "\n".join(": ".join(map(str, pair)) for pair in pairs)


def _inspect_pack(name: str) -> dict[str, Any]:
    try:
        _plugins.load_pack(_plugins.found(_plugins.PACKS)[name].entry_point.load(), name)
    except Exception as error:
        return {"state": "broken", "reason": f"{type(error).__name__}: {error}"}
    return {"state": "loads"}


if __name__ == "__main__":
    print(json.dumps(inspect_plugin(*sys.argv[1:])))  # noqa: T201
