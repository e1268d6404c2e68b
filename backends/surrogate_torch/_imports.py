"""Doing something when a module is imported, without importing it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from typing import Any


def after_import(name: str, action: Callable[[], None]) -> None:
    """Call ``action`` now if the module is loaded, else when somebody has imported it."""
    if name in sys.modules:
        action()
    else:
        sys.meta_path.insert(0, _Finder(name, action))


class _Finder:
    """Finds nothing itself; what the others find for one name is watched."""

    def __init__(self, name: str, action: Callable[[], None]) -> None:
        self._name, self._action = name, action

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            loader, action = spec.loader, self._action
            execute = loader.exec_module

            def exec_module(module: Any) -> None:
                execute(module)
                action()

            loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
