"""The line of the user's that runs now: a walk over frames, without traceback objects."""

from __future__ import annotations

import sys
from pathlib import Path

from surrogate.auditing._trace import Place

#: This package and what it ships beside, but for the demo's networks, which are a user's program.
_OURS = str(Path(__file__).parents[1]) + "/"
_DEMO = str(Path(__file__).parents[1] / "demo" / "models") + "/"

#: Code without a file that a user wrote; other names in angle brackets are generated.
_TYPED = ("<stdin>", "<string>", "<ipython-input")


def user_place(framework: tuple[str, ...]) -> Place:
    """The innermost frame that belongs neither to this library nor to the framework.

    Args:
        framework: beginnings of file names that are the framework's or the backend's own.
    """
    frame, outermost = sys._getframe(1), None
    while frame is not None:
        name = frame.f_code.co_filename
        if _is_the_users(name, framework):
            return Place(name, frame.f_lineno, frame.f_code.co_name)
        outermost, frame = frame, frame.f_back  # type: ignore[assignment]  # None ends the walk
    assert outermost is not None
    return Place(outermost.f_code.co_filename, outermost.f_lineno, outermost.f_code.co_name)


def _is_the_users(name: str, framework: tuple[str, ...]) -> bool:
    if name.startswith("<"):
        return name.startswith(_TYPED)
    return not name.startswith(framework) and (not name.startswith(_OURS) or name.startswith(_DEMO))
