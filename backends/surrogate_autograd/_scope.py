"""While a rule's own functions run, nothing is captured."""

from __future__ import annotations

import threading
from types import TracebackType

import numpy as np


class _Depth(threading.local):
    value = 0


_depth = _Depth()


def is_suspended() -> bool:
    """Whether a rule's own function runs in this thread."""
    return _depth.value > 0


class suspended:  # noqa: N801  (used as a verb: with suspended(): ...)
    """Capture nothing in this thread, and let formulas be evaluated at 0, infinity and NaN in peace.

    Rules are plain functions that never wait, so the thread is the right scope; it is a tenth of the
    price of ``Backend.exactly(None)``.
    """

    __slots__ = ("_quiet",)

    def __enter__(self) -> None:
        _depth.value += 1
        self._quiet = np.errstate(all="ignore")
        self._quiet.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._quiet.__exit__(kind, error, trace)
        _depth.value -= 1
