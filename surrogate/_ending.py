"""The end of a ``with`` block that no interrupt can miss.

Python may raise KeyboardInterrupt before the first line of ``__exit__``, and what the block put in force
would stay. But the interpreter looks ``__exit__`` up before it enters the block, holds what it found on the
frame's stack, and drops it when the block is over, however that came about. So what it finds here is an
:class:`Ending`, which ends the block when it is called, and else when it is dropped.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from surrogate._untraced import untraced

R = TypeVar("R")
#: ``leave(manager, entry, kind)`` ends one entering, or the last one for None. ``kind`` is the exception that
#: ends it. Ending the same entering again does nothing.
Leave = Callable[[Any, Any, "type[BaseException] | None"], None]


class _Made(threading.local):
    """The ending that this thread made last, while the block has not begun."""

    ending: weakref.ref[Ending] | None = None


_made = _Made()


class _Entering:
    """One entering of a context manager; ``entry`` is what was entered, None before and after."""

    __slots__ = ("entry", "leave", "manager")

    def __init__(self, leave: Leave, manager: Any) -> None:
        self.leave = leave
        self.manager = manager
        self.entry: Any = None


@untraced
def _finish(
    entering: _Entering,
    kind: type[BaseException] | None = None,
    error: BaseException | None = None,
    trace: TracebackType | None = None,
) -> None:
    try:
        entering.leave(entering.manager, entering.entry, kind)
    except Exception:
        entering.entry = None  # it is still entered, and may be left again
        raise
    entering.entry = None


class Ending(functools.partial[None]):
    """What ends one entering of a context manager, as ``manager.__exit__(kind, error, trace)``.

    A partial function, since that is called in C: no frame of a traceback that somebody keeps holds it.
    """

    def __del__(self) -> None:
        (entering,) = self.args
        if entering.entry is not None:
            _finish(entering, KeyboardInterrupt)


class Exit:
    """``__exit__`` of a class, as a class attribute: ``__exit__ = Exit(leave)``.

    On an instance it is an :class:`Ending`. On the class, where ``contextlib.ExitStack`` looks, it is a
    function of the instance and the exception, which Python can interrupt before its first line.
    """

    def __init__(self, leave: Leave) -> None:
        self._leave = leave

    def __get__(self, manager: Any, owner: type) -> Callable[..., None]:
        if manager is None:
            return lambda manager, kind, error, trace: self._leave(manager, None, kind)
        ending = Ending(_finish, _Entering(self._leave, manager))
        _made.ending = weakref.ref(ending)
        return ending


def begins(manager: Any, entry: Any) -> None:
    """Call it first in ``__enter__``: from here on the end of the block ends this entry."""
    made, _made.ending = _made.ending, None
    ending = made() if made is not None else None
    if ending is not None and ending.args[0].manager is manager:
        ending.args[0].entry = entry


class Block:
    """A context manager for one ``with`` block.

    Args:
        begin: called when it begins; may raise, and then the block has not begun.
        end: ends what ``begin`` began, or began to begin; doing it again does nothing.
    """

    def __init__(self, begin: Callable[[], None], end: Callable[[], None]) -> None:
        self._begin = begin
        self._end: Callable[[], None] | None = end

    @untraced
    def __enter__(self) -> None:
        begins(self, self)
        self._begin()

    def _leave(self, entry: object, kind: type[BaseException] | None) -> None:
        if self._end is not None:
            to_its_end(self._end)
            self._end = None

    __exit__ = Exit(_leave)


def to_its_end(undo: Callable[..., R], *what: Any) -> R:
    """Call what ends an override. An interrupt (Ctrl-C) meanwhile is raised after that, not in its place."""
    try:
        return undo(*what)
    except Exception:
        raise
    except BaseException:
        undo(*what)
        raise
