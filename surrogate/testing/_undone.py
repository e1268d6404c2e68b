"""Taking back every override that a block left in force."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from surrogate import _plugins
from surrogate._active import Store


@contextmanager
def undone() -> Iterator[None]:
    """Undo, at the end of the block, what it put in force and did not undo: for tests.

    It covers every backend that has been loaded by name, process-wide overrides and those of this
    thread or task, without the warning of overrides that captured nothing.
    """
    before = {id(store): (store._layers, store._local.get()) for store in _stores()}
    try:
        yield
    finally:
        for store in _stores():
            _back(store, *before.get(id(store), ((), None)))


def _stores() -> list[Store]:
    return [backend.store for backend in _plugins._loaded.values()]


def _back(store: Store, layers: tuple[Any, ...], local: Any) -> None:
    for layer in store._layers:
        if layer not in layers:
            store.uninstall(layer)
    if store._local.get() is not local:
        store._set_local(local, store._local.get())
