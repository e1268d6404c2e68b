"""Formulas made of other ops' formulas: those of ``greater`` are heaviside's, of the difference."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from surrogate._partial import Window, is_number

#: ``how(base, xp, arguments, parameters)``: the derived formula's value; ``arguments`` begin with ``g`` where
#: the base takes the upstream gradient.
How = Callable[..., Any]

_LEADING = inspect.Parameter.POSITIONAL_OR_KEYWORD
_NAMED = inspect.Parameter.KEYWORD_ONLY


@dataclass(frozen=True)
class Derived:
    """A formula made of another; it has the same parameters.

    Attributes:
        base: the formula it is made of.
        how: a module's function that says how, so that it can be pickled and has a digest.
        inputs: names of the inputs it takes.
        upstream: whether both take the upstream gradient.
        attributes: attributes of the op that it takes, with their defaults.
    """

    base: Callable[..., Any]
    how: How
    inputs: tuple[str, ...]
    upstream: bool = False
    attributes: tuple[tuple[str, Any], ...] = ()

    def __call__(self, xp: Any, *arguments: Any, **parameters: Any) -> Any:
        return self.how(self.base, xp, arguments, parameters)

    def __post_init__(self) -> None:
        names = ("xp", "g", *self.inputs) if self.upstream else ("xp", *self.inputs)
        given = inspect.signature(self.base).parameters.values()
        signature = inspect.Signature(
            [inspect.Parameter(name, _LEADING) for name in names]
            + [p for p in given if p.kind is _NAMED]
            + [inspect.Parameter(name, _NAMED, default=value) for name, value in self.attributes]
        )
        for name, value in (  # what functools.wraps would copy
            ("__signature__", signature),
            ("__wrapped__", self.base),
            ("__annotations__", getattr(self.base, "__annotations__", {})),
            ("__name__", getattr(self.base, "__name__", "function")),
            ("__doc__", inspect.getdoc(self.base)),
        ):
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[type[Derived], tuple[Any, ...]]:
        return Derived, (self.base, self.how, self.inputs, self.upstream, self.attributes)


def of_difference(base: Callable[..., Any], xp: Any, arguments: Any, parameters: Any) -> tuple[Any, Any]:
    """``h(x - y)`` by x and ``-h(x - y)`` by y, with h the base: a step that goes up where x passes y."""
    value = _at_difference(base, xp, arguments, parameters)
    return value, _negative(value)


def of_falling_difference(
    base: Callable[..., Any], xp: Any, arguments: Any, parameters: Any
) -> tuple[Any, Any]:
    """``-h(x - y)`` by x and ``h(x - y)`` by y: a step that goes down where x passes y."""
    value = _at_difference(base, xp, arguments, parameters)
    return _negative(value), value


def negated(base: Callable[..., Any], xp: Any, arguments: Any, parameters: Any) -> tuple[Any, ...]:
    """The base's partial derivatives with the other sign."""
    found = base(xp, *arguments, **parameters)
    return tuple(map(_negative, found if type(found) is tuple else (found,)))


def to_integer(base: Callable[..., Any], xp: Any, arguments: Any, parameters: Any) -> Any:
    """The base, for a cast to an integer; 0 for a cast to bool."""
    to = parameters.pop("to", "integer")
    if to == "integer":
        return base(xp, *arguments, **parameters)
    return xp.zeros_like(arguments[0]) if len(arguments) > 1 else 0.0


def to_bool(base: Callable[..., Any], xp: Any, arguments: Any, parameters: Any) -> Any:
    """The base's derivative by x at y = 0, for a cast to bool: ``x != 0``; 0 for one to an integer."""
    if parameters.pop("to", "integer") != "bool":
        return 0.0
    found = base(xp, *arguments, 0.0, **parameters)
    return found[0] if type(found) is tuple else found


def as_it_is(base: Callable[..., Any], xp: Any, arguments: Any, parameters: Any) -> Any:
    """The base itself."""
    return base(xp, *arguments, **parameters)


def _by_difference(base: Callable[..., Any], xp: Any, arguments: Any, parameters: Any) -> Any:
    x, y = arguments
    return base(xp, xp.widen(x) - xp.widen(y), **parameters)


def _by_falling_difference(base: Callable[..., Any], xp: Any, arguments: Any, parameters: Any) -> Any:
    return _negative(_by_difference(base, xp, arguments, parameters))


def _by_negated(base: Callable[..., Any], xp: Any, arguments: Any, parameters: Any) -> Any:
    return _negative(base(xp, *arguments, **parameters))


#: How a formula is made of another -> how its derivatives by parameters are; none of them is a tuple.
BY: dict[How, How] = {
    of_difference: _by_difference,
    of_falling_difference: _by_falling_difference,
    negated: _by_negated,
    to_integer: to_integer,
    to_bool: to_bool,
    as_it_is: as_it_is,
}


def _at_difference(base: Callable[..., Any], xp: Any, arguments: Any, parameters: Any) -> Any:
    *g, x, y = arguments
    found = base(xp, *g, xp.widen(x) - xp.widen(y), **parameters)
    return found[0] if type(found) is tuple else found


def _negative(value: Any) -> Any:
    if isinstance(value, Window):
        return Window(value.mask, -value.inside, -value.outside)
    if is_number(value) or not str(value.dtype).endswith("bool"):
        return -value
    return Window(value, -1.0, 0.0)
