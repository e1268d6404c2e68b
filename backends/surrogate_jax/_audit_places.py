"""Where a user called an op: JAX keeps the Python frames of every equation it traces."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from surrogate.auditing import Place
from surrogate_jax import _hooks

#: Libraries that are written in JAX and whose lines say less than those of who calls them.
LIBRARIES = tuple(
    os.sep + name + os.sep
    for name in ("chex", "diffrax", "einops", "equinox", "flax", "haiku", "jaxtyping", "lineax", "optax")
)
UNKNOWN = Place("?", 0, "?")

#: Sources of NumPy.
_NUMPY = str(Path(np.__file__).parent) + os.sep


def user_place(info: Any) -> Place:
    """The innermost line outside JAX, this library and the libraries above; else outside JAX."""
    frames = list(_hooks.user_frames(info))
    for frame in frames:
        if not any(library in frame.file_name for library in LIBRARIES):
            return Place(frame.file_name, frame.start_line, frame.function_name)
    return Place(frames[0].file_name, frames[0].start_line, frames[0].function_name) if frames else UNKNOWN


def is_of_a_user(file: str) -> bool:
    """Whether a file is a user's: neither JAX's nor one of the libraries'."""
    ours = str(_hooks.HERE) + os.sep
    generated = file.startswith("<") and not file.startswith(("<stdin>", "<string>", "<ipython"))
    elsewhere = file.startswith((_hooks.PUBLIC, _NUMPY, ours)) or any(x in file for x in LIBRARIES)
    return not generated and not elsewhere


def named_scope(info: Any) -> str:
    """The names of the modules that the equation was traced in (``jax.named_scope``; Flax sets it)."""
    parts = (getattr(part, "name", "") for part in info.name_stack.stack)
    return "/".join(part for part in parts if part and not part.startswith(("jvp", "transpose", "vmap")))


def runs_in(info: Any, file: str, function: str) -> bool:
    """Whether the equation was traced by this function of JAX's, called by a user."""
    for name, found in _inner_frames(info):
        if is_of_a_user(name):
            return False
        if name.endswith(file) and found.startswith((function, f"_{function}")):
            return True
    return False


def _inner_frames(info: Any) -> Iterator[tuple[str, str]]:
    """File and function of the frames, innermost first."""
    if info.traceback is not None:
        codes, _ = info.traceback.raw_frames()
        yield from ((code.co_filename, code.co_name) for code in codes)
