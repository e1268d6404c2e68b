"""Catching calls of a Python function whoever holds it, at no cost while nothing is caught.

The function object stays the same, so that names imported before, aliases and methods are caught
too; only its code object is exchanged, and put back exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

Catcher = Callable[..., Any]

_PLACE = "surrogate: the catcher goes here"


def _caught(*args: Any, **kwargs: Any) -> Any:
    catcher: Any = "surrogate: the catcher goes here"
    return catcher(*args, **kwargs)


def is_stand_in(code: CodeType) -> bool:
    """Whether this is the code of a function while it is caught."""
    return code.co_filename == _caught.__code__.co_filename and code.co_code == _caught.__code__.co_code


class Swap:
    """One function that can be caught.

    Args:
        function: any Python function.
        original: its code when nobody catches it.
        make: given a copy of the function that is never caught, returns what to call instead.
    """

    def __init__(
        self, function: FunctionType, original: CodeType, make: Callable[[Catcher], Catcher]
    ) -> None:
        self.function = function
        self.original = original
        native = FunctionType(
            self.original,
            function.__globals__,
            function.__name__,
            function.__defaults__,
            function.__closure__,
        )
        native.__kwdefaults__ = function.__kwdefaults__
        self.native: Catcher = native
        self.code = self._code(make(native))

    def _code(self, catcher: Catcher) -> CodeType:
        """The code that calls ``catcher``: it has the original's free variables, and uses none."""
        code = _caught.__code__
        return code.replace(
            co_consts=tuple(catcher if const == _PLACE else const for const in code.co_consts),
            co_freevars=self.original.co_freevars,
            co_name=self.original.co_name,
        )

    def install(self) -> None:
        """From here on calls go to the catcher."""
        self.function.__code__ = self.code

    def remove(self) -> None:
        """Back to the original code; calls that are under way end as they began."""
        self.function.__code__ = self.original
