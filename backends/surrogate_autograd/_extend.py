"""Making primitives: ``autograd.extend``'s decorator with types, and cheaper ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from autograd import extend

from surrogate_autograd._hooks import getval, isbox

F = TypeVar("F", bound=Callable[..., Any])


def primitive(function: F) -> F:
    """A function whose derivatives are given by ``defvjp`` and ``defjvp``."""
    return cast(F, extend.primitive(function))


def unless_boxed(function: F, smooth: F) -> F:
    """``smooth``, a primitive, where an operand is being differentiated; else ``function`` itself.

    On bare arrays, which is what formulas meet most, it saves the price of a primitive.
    """

    def either(*operands: Any) -> Any:
        return smooth(*operands) if any(map(isbox, operands)) else function(*operands)

    return cast(F, either)


def flat(function: F) -> F:
    """A function that is evaluated on the bare arrays, and is constant to autograd."""

    def evaluate(*operands: Any) -> Any:
        return function(*map(getval, operands))

    return cast(F, evaluate)
