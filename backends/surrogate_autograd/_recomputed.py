"""Functions that run the user's function again when they are differentiated.

``fixed_point`` and ``odeint`` trace it during the backward pass, which may be long after the block. Each
run of it obeys what was in force when the result was computed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from surrogate import Backend
from surrogate_autograd import _hooks
from surrogate_autograd._operands import is_boxed
from surrogate_autograd._scope import is_suspended
from surrogate_autograd._swap import Catcher, Swap


class Recomputation:
    """The hooks on those functions, in the modules that have been imported."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

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
            return native(_bound(self._backend, function), *args, **kwargs)

        return catch


def _bound(backend: Backend, function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, and a function that it returns, under the rules in force now."""

    def both(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        return _bound(backend, result) if callable(result) else result

    return backend.bound(both)
