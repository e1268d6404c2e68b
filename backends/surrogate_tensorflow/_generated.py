"""Where the user's code is: through the functions that autograph makes of it, and in which Keras layer."""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType
from typing import Any

from surrogate import Site

_GENERATED = "__autograph_generated_file"
_CONVERTING = "tensorflow.python.autograph.impl.api", "converted_call"
_LAYER = "keras.src.layers.layer", "__call__"


def original(frame: FrameType) -> Site | None:
    """The place in the function as it was written; None for one that autograph has not converted."""
    code = frame.f_code
    if _GENERATED not in code.co_filename:
        return None
    for outer in _outwards(frame):
        if _is(outer, _CONVERTING):
            made = outer.f_locals.get("converted_f")
            if getattr(getattr(made, "__code__", None), "co_filename", None) == code.co_filename:
                return _mapped(frame, outer.f_locals["f"], made)
    return None


def _mapped(frame: FrameType, written: Any, made: Any) -> Site:
    module = frame.f_globals.get("__name__", "")
    written = written if hasattr(written, "__qualname__") else type(written).__call__
    name = f"{module}.{written.__qualname__}".replace(".<locals>", "")
    at = (frame.f_code.co_filename, frame.f_lineno)
    found = made.ag_source_map.get(at)
    if found is None:
        return Site(written.__code__.co_filename, written.__code__.co_firstlineno, name)
    inner = found.function_name
    inside = inner and inner != written.__name__ and not inner.startswith("<")
    return Site(found.loc.filename, found.loc.lineno, f"{name}.{inner}" if inside else name)


def module_path(frame: FrameType) -> str:
    """The path of the innermost Keras layer that is being called."""
    for outer in _outwards(frame):
        if _is(outer, _LAYER) and "self" in outer.f_locals:
            layer = outer.f_locals["self"]
            return str(getattr(layer, "path", None) or layer.name)
    return ""


def _is(frame: FrameType, place: tuple[str, str]) -> bool:
    return (frame.f_globals.get("__name__"), frame.f_code.co_name) == place


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back
