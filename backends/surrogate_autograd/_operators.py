"""The operators ``//`` and ``divmod`` of boxes, which autograd does not have.

They exist while hooks are installed, and answer only where a rule for them is in force: elsewhere
Python says, as ever, that the operand type is not supported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import autograd.numpy as anp

from surrogate import State
from surrogate_autograd._hooks import ArrayBox

Array = Any


class Operators:
    """Adds the operators to autograd's boxes and takes them away.

    Args:
        state: what is in force here and now.
    """

    def __init__(self, state: Callable[[], State]) -> None:
        def floordiv(self: Array, other: Array) -> Array:
            return (
                anp.floor_divide(self, other) if state().rule("floor_divide") is not None else NotImplemented
            )

        def rfloordiv(self: Array, other: Array) -> Array:
            return (
                anp.floor_divide(other, self) if state().rule("floor_divide") is not None else NotImplemented
            )

        def quotient_and_rest(self: Array, other: Array) -> Array:
            return anp.divmod(self, other) if _either(state()) else NotImplemented

        def rquotient_and_rest(self: Array, other: Array) -> Array:
            return anp.divmod(other, self) if _either(state()) else NotImplemented

        added = {
            "__floordiv__": floordiv,
            "__rfloordiv__": rfloordiv,
            "__divmod__": quotient_and_rest,
            "__rdivmod__": rquotient_and_rest,
        }
        self._added = {name: f for name, f in added.items() if not hasattr(ArrayBox, name)}

    def install(self) -> None:
        for name, function in self._added.items():
            setattr(ArrayBox, name, function)

    def remove(self) -> None:
        for name, function in self._added.items():
            if vars(ArrayBox).get(name) is function:
                delattr(ArrayBox, name)


def _either(state: State) -> bool:
    return state.rule("floor_divide") is not None or state.rule("mod") is not None
