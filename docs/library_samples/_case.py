"""One function of a library with arguments to call it with."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Case:
    """A function, the arguments that a gradient is asked for, and the other ones."""

    name: str
    function: Callable[..., Any]
    sources: dict[str, Any]
    constants: dict[str, Any] = field(default_factory=dict)

    def run(self, *sources: Any) -> Any:
        """Call it, without what makes no loss of its result."""
        given = dict(zip(self.sources, sources, strict=True))
        positional = [
            p for p, kind in _kinds(self.function).items() if kind == inspect.Parameter.POSITIONAL_ONLY
        ]
        every = given | self.constants
        return self.function(*(every.pop(p) for p in positional), **every)


def _kinds(function: Callable[..., Any]) -> dict[str, Any]:
    return {name: p.kind for name, p in inspect.signature(function).parameters.items()}


def required(function: Callable[..., Any]) -> list[str]:
    """The parameters of a function that have no default."""
    return [
        name
        for name, p in inspect.signature(function).parameters.items()
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]


def chosen(name: str, parameter: str, own: Mapping[str, Mapping[str, Any]], usual: Mapping[str, Any]) -> Any:
    """The sample for a parameter: the function's own, or what parameters of that name usually take.

    Raises:
        LookupError: there is none.
    """
    mine = own.get(name, {})
    if parameter in mine:
        return mine[parameter]
    if parameter in usual:
        return usual[parameter]
    raise LookupError(f"no sample for {parameter!r}")
