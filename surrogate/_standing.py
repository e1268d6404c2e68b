"""What is in force, where it was put, and what is said of it when the process ends."""

from __future__ import annotations

import atexit
import dis
import os
import sys
import warnings
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from surrogate._active import Store
from surrogate._gradient import Gradient
from surrogate._state import Layer
from surrogate._unused import complaint

if TYPE_CHECKING:
    from surrogate._backend import Backend

_PACKAGE = __name__.partition(".")[0]
_KIT = f"{_PACKAGE}.testing."

_backends: WeakKeyDictionary[Store, Backend] = WeakKeyDictionary()


class InForce(NamedTuple):
    """One override that is in force.

    Attributes:
        backend: the backend's name.
        rules: its gradients by op; None for native.
        where: ``file:line`` of the call of ``use`` or ``override``.
        scope: ``"process"``, or ``"context"``: this thread or async task only.
        hits: how often each op was captured.
    """

    backend: str
    rules: Mapping[str, Gradient | None]
    where: str
    scope: str
    hits: Mapping[str, int]


def in_force() -> list[InForce]:
    """All overrides that are in force here, the process-wide ones first; later ones win."""
    found = []
    for store, backend in list(_backends.items()):
        for scope, layers in (("process", store.layers()), ("context", store.entered())):
            found += [
                InForce(backend.name, dict(layer.rules), layer.where, scope, Counter(layer.hits))
                for layer in layers
            ]
    return sorted(found, key=lambda one: one.scope == "context")


def reset() -> None:
    """Undo every :func:`surrogate.use` that is still in force, in all backends; ``with`` blocks stay."""
    for store in list(_backends):
        for layer in reversed(store.layers()):
            store.uninstall(layer)


def stands(backend: Backend) -> None:
    """An override of this backend was made."""
    if not _backends:
        atexit.register(_say_at_exit, os.getpid())
    _backends[backend.store] = backend


def _say_at_exit(pid: int) -> None:
    """Warn of what is still in force and has captured nothing."""
    if os.getpid() != pid or hasattr(sys, "last_value"):
        return  # a copy of the process that set it; or the program failed, which is the news
    for store, backend in list(_backends.items()):
        for layer in store.layers():
            said = complaint(backend, layer, 0)
            if said is not None:
                file, _, line = layer.where.rpartition(":")
                warnings.warn_explicit(*said, file, int(line))


# -- where it was put ----------------------------------------------------------------------------


def caller() -> FrameType | None:
    """The nearest frame that is not ours; the kit's overrides are its own, whoever runs it."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_ours(str(frame.f_globals.get("__name__"))):
        frame = frame.f_back
    return frame


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == _PACKAGE and not module.startswith(_KIT)


def place_of(frame: FrameType | None) -> str:
    """``file:line`` of a frame."""
    return "?:0" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def replaces(store: Store, layer: Layer, frame: FrameType | None) -> None:
    """In a notebook or at a prompt, a ``use`` that is run again takes the place of its own earlier one.

    It is the same if its handle gets the same name, or has none and the same line of the same cell is run.
    """
    layer.key = key = _key(frame)
    if key:
        for earlier in store.layers():
            if earlier.key == key and earlier is not layer:
                store.uninstall(earlier)


def _key(frame: FrameType | None) -> str:
    if frame is None or frame.f_globals.get("__name__") != "__main__" or frame.f_code.co_name != "<module>":
        return ""
    if Path(frame.f_code.co_filename).is_file():  # a script runs once
        return ""
    after = (one for one in dis.get_instructions(frame.f_code) if one.offset > frame.f_lasti)
    then = next((one for one in after if one.opname != "CACHE"), None)
    if then is not None and then.opname in ("STORE_NAME", "STORE_GLOBAL"):
        return f"name {then.argval}"
    alone = then is not None and then.opname in ("POP_TOP", "PRINT_EXPR", "RETURN_VALUE", "CALL_INTRINSIC_1")
    return f"line {place_of(frame)}" if alone else ""
