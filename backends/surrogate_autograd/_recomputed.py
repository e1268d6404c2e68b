"""Functions that run the user's function again when they are differentiated.

``fixed_point`` and ``odeint`` trace it during the backward pass, which may be long after the block. Each
run of it obeys what was in force when the result was computed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from surrogate import State
from surrogate_autograd import _hooks
from surrogate_autograd._operands import is_boxed
from surrogate_autograd._scope import is_suspended
from surrogate_autograd._swap import Catcher, Swap

Exactly = Callable[[State], AbstractContextManager[None]]


class Recomputation:
    """The hooks on those functions, in the modules that have been imported.

    Args:
        state: what is in force here and now.
        exactly: runs a block under a state.
    """

    def __init__(self, state: Callable[[], State], exactly: Exactly) -> None:
        self._state = state
        self._exactly = exactly

    def install(self) -> None:
        """Catch those that are imported by now. They stay caught: what ran natively stays native, too."""
        for module, name in _hooks.RECOMPUTING:
            function = getattr(sys.modules.get(module), name, None)
            if function is not None and function.__code__ is _hooks.PRIMITIVE:
                Swap(function, _hooks.PRIMITIVE, self._pin).install()

    def _pin(self, native: Catcher) -> Catcher:
        def catch(function: Any, *args: Any, **kwargs: Any) -> Any:
            if is_suspended() or not any(map(is_boxed, args)):
                return native(function, *args, **kwargs)
            return native(_pinned(function, self._exactly, self._state()), *args, **kwargs)

        return catch


def _pinned(function: Callable[..., Any], exactly: Exactly, state: State) -> Callable[..., Any]:
    """``function``, and a function that it returns, under this state."""

    def run(*args: Any, **kwargs: Any) -> Any:
        with exactly(state):
            result = function(*args, **kwargs)
        return _pinned(result, exactly, state) if callable(result) else result

    return run
