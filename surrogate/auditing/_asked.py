"""Programs that return nothing to differentiate but ask for a gradient themselves: `fit`, a training step."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from surrogate._errors import SpecError
from surrogate.auditing._trace import Trace


class NothingReturnedError(Exception):
    """What the program returned holds no array."""


class _Stop(BaseException):
    """Stops the program once its trace is there; no handler of its own takes it for an error."""


def first_asked(
    intercept: Callable[[Callable[[Trace], None]], AbstractContextManager[None]], run: Callable[[], object]
) -> Trace:
    """The trace of the first gradient that a program asks for; it is stopped there.

    Args:
        intercept: watches what runs in its block, and hands over the trace.
        run: runs the program.

    Raises:
        SpecError: it asks for none.
    """
    found: list[Trace] = []

    def caught(trace: Trace) -> None:
        found.append(trace)
        raise _Stop

    try:
        with intercept(caught):
            run()
    except _Stop:
        return found[0]
    raise SpecError("the program returns no array and asks for no gradient: there is nothing to audit.")
