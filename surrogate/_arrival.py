"""Being told that a module is imported, before who wants it sees it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:  # slow to import, for base classes that add nothing
    from importlib.abc import Loader


@contextmanager
def when_imported(names: Sequence[str], arrived: Callable[[str], None]) -> Iterator[None]:
    """Call ``arrived(name)`` as soon as one of these modules is imported, before who wants it sees it.

    One that was imported before arrives at once.
    """
    finder = _Finder(set(names), arrived)
    for name in sorted(finder.names & sys.modules.keys()):
        finder.names.discard(name)
        arrived(name)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        if finder in (sys.meta_path or ()):  # None when the process ends
            sys.meta_path.remove(finder)


class _Finder:
    def __init__(self, names: set[str], arrived: Callable[[str], None]) -> None:
        self.names, self._arrived = names, arrived

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in self.names:
            return None
        self.names.discard(name)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = cast("Loader", _Telling(spec.loader, self._arrived))
        return spec


class _Telling:
    """Loads a module as its own loader does, then tells of it."""

    def __init__(self, real: Loader, arrived: Callable[[str], None]) -> None:
        self._real, self._arrived = real, arrived

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._real.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._real
        if module.__spec__ is not None:
            module.__spec__.loader = self._real
        self._real.exec_module(module)
        if module.__spec__ is not None:  # else a thread of the backend's would wait for this import to end
            module.__spec__._initializing = False  # type: ignore[attr-defined]
        self._arrived(module.__name__)
