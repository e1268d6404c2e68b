"""``autograd.extend``'s decorators with types: autograd ships none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from autograd import extend

F = TypeVar("F", bound=Callable[..., Any])


def primitive(function: F) -> F:
    """A function whose derivatives are given by ``defvjp`` and ``defjvp``."""
    return cast(F, extend.primitive(function))


def notrace_primitive(function: F) -> F:
    """A function that is evaluated on the bare arrays, and is constant to autograd."""
    return cast(F, extend.notrace_primitive(function))
