"""Catching calls of a Python function whoever holds it, at no cost while nothing is caught.

The function object stays the same, so that names imported before, aliases and methods are caught
too; only its code object is exchanged, and put back exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

Catcher = Callable[..., Any]

_FILE = "<surrogate: an op of autograd while overrides are alive>"
_PLACE = "the catcher goes here"

# A function takes only code with as many free variables as its own has, and a debugger reads them
# all: so the stand-in is compiled with the same ones. It runs among the function's own globals, and
# reaches us by a constant.
_SOURCE = """
def enclosing({names}):
    def stand_in(*args, **kwargs):
        catcher = {place!r}
        return catcher(*args, **kwargs)
        {names}
    return stand_in
"""


def _stand_in(original: CodeType, catcher: Catcher) -> CodeType:
    """Code that calls ``catcher``, for the function whose code is ``original``."""
    names = original.co_freevars
    namespace: dict[str, Any] = {}
    source = _SOURCE.format(names=", ".join(names), place=_PLACE)
    exec(compile(source, _FILE, "exec"), namespace)
    code: CodeType = namespace["enclosing"](*names).__code__
    consts = tuple(catcher if const == _PLACE else const for const in code.co_consts)
    return code.replace(co_consts=consts, co_name=original.co_name)


def is_stand_in(code: CodeType) -> bool:
    """Whether this is the code of a function while it is caught."""
    return code.co_filename == _FILE


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
            original, function.__globals__, function.__name__, function.__defaults__, function.__closure__
        )
        native.__kwdefaults__ = function.__kwdefaults__
        self.code = _stand_in(original, make(native))

    def install(self) -> None:
        """From here on calls go to the catcher."""
        self.function.__code__ = self.code

    def remove(self) -> None:
        """Back to the original code; calls that are under way end as they began."""
        self.function.__code__ = self.original
