"""While a rule's own functions run, nothing is captured."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

R = TypeVar("R")


class _Thread(threading.local):
    suspended = False


_thread = _Thread()


def is_suspended() -> bool:
    """Whether a rule's own function runs in this thread."""
    return _thread.suspended


def suspended(function: Callable[..., R], *args: Any) -> R:
    """``function(*args)``, capturing nothing in this thread; formulas meet 0, infinity and NaN in peace.

    Rules are plain functions that never wait, so the thread is the right scope; it is a tenth of the
    price of ``Backend.exactly(None)``. An interrupt (Ctrl-C) is raised where a Python function begins, also
    ``__exit__``, or after a call: a plain assignment in a ``finally`` is what nothing can come before.
    """
    before = _thread.suspended
    try:
        _thread.suspended = True
        with np.errstate(all="ignore"):
            return function(*args)
    finally:
        _thread.suspended = before
