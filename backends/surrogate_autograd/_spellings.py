"""How users of autograd spell each op, and where in a call its operands are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from surrogate import UnsupportedOpError

Array = Any
Place = int | str | None  # position, keyword, or not given


class Spelling(NamedTuple):
    """One function of ``autograd.numpy``.

    Attributes:
        name: its name there; some names are of one function, and some are not in every version.
        op: the op it is.
        operands: for each input of the op, the names it may be given under.
        defaults: for each input, its value when it is not given or None.
        decimals: whether the parameter after the operands is ``decimals``.
    """

    name: str
    op: str
    operands: tuple[tuple[str, ...], ...] = (("x",),)
    defaults: tuple[float | None, ...] = (None,)
    decimals: bool = False


def _binary(name: str, op: str | None = None) -> Spelling:
    return Spelling(name, op or name, (("x1",), ("x2",)), (None, None))


_A = (("a",),)

SPELLINGS = (
    Spelling("sign", "sign"),
    Spelling("round", "round", _A, decimals=True),
    Spelling("around", "round", _A, decimals=True),
    Spelling("round_", "round", _A, decimals=True),
    Spelling("rint", "round"),
    Spelling("floor", "floor"),
    Spelling("ceil", "ceil"),
    Spelling("trunc", "trunc"),
    Spelling("fix", "trunc"),
    _binary("mod"),
    _binary("remainder", "mod"),
    _binary("fmod"),
    _binary("floor_divide"),
    _binary("heaviside"),
    _binary("maximum"),
    _binary("minimum"),
    Spelling("clip", "clip", (("a",), ("a_min", "min"), ("a_max", "max")), (None, -np.inf, np.inf)),
    Spelling("abs", "abs"),
    Spelling("absolute", "abs"),
    Spelling("fabs", "abs"),
)

OPS = frozenset(spelling.op for spelling in SPELLINGS)

UNSUPPORTED = {
    **dict.fromkeys(("relu", "relu6"), "autograd has no such function; np.maximum(x, 0) is maximum"),
    **dict.fromkeys(
        (
            "greater",
            "greater_equal",
            "less",
            "less_equal",
            "equal",
            "not_equal",
            "argmax",
            "argmin",
            "astype",
            "searchsorted",
        ),
        "autograd gives a plain NumPy array for a boolean or an integer, without a memory of its origin",
    ),
}


class Call(NamedTuple):
    """A call of an op without its operands.

    Attributes:
        places: where in ``args`` or ``kwargs`` each operand was; None where its default is used.
        args, kwargs: what else was given.
        decimals: of ``round``.
        plain: whether the operands, in order, are all that was given.
    """

    places: tuple[Place, ...]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    decimals: int = 0
    plain: bool = False

    def put(self, values: Sequence[Array]) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """Arguments like the user's, with these values as operands."""
        if self.plain:
            return values, self.kwargs
        args, kwargs = list(self.args), dict(self.kwargs)
        for place, value in zip(self.places, values, strict=True):
            if isinstance(place, int):
                args[place] = value
            elif place is not None:
                kwargs[place] = value
        return args, kwargs


_PLAIN = Call((), (), {}, plain=True)


def take_apart(
    spelling: Spelling, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[Call, tuple[Array, ...]] | None:
    """A call without its operands, and these; None if it lacks one (NumPy then says so).

    An operand that was not given, or is None, has its default.

    Raises:
        UnsupportedOpError: ``out`` or ``where`` is given, which no derivative can see through.
    """
    if len(args) == len(spelling.operands) and not kwargs and not any(map(_is_default, args)):
        return _PLAIN, args
    places: list[Place] = []
    operands: list[Array] = []
    for position, (names, default) in enumerate(zip(spelling.operands, spelling.defaults, strict=True)):
        place = _find(position, names, args, kwargs)
        value = _at(place, args, kwargs)
        if _is_default(value):
            if default is None:
                return None
            place, value = None, default
        places.append(place)
        operands.append(value)
    decimals = 0
    if spelling.decimals:
        place = _find(len(places), ("decimals",), args, kwargs)
        decimals = 0 if place is None else int(_at(place, args, kwargs))
    _refuse(spelling, args, kwargs)
    rest = tuple(None if at in places else value for at, value in enumerate(args))
    named = {name: value for name, value in kwargs.items() if name not in places}
    return Call(tuple(places), rest, named, decimals), tuple(operands)


def _is_default(x: Any) -> bool:
    return x is None or x is np._NoValue


def _find(position: int, names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Place:
    if position < len(args):
        return position
    return next((name for name in names if name in kwargs), None)


def _at(place: Place, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    if place is None:
        return None
    return args[place] if isinstance(place, int) else kwargs[place]


def _refuse(spelling: Spelling, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    after = len(spelling.operands) + spelling.decimals
    out = kwargs.get("out", args[after] if len(args) > after else None)
    if out is not None or kwargs.get("where", True) is not True:
        raise UnsupportedOpError(
            f"autograd.numpy.{spelling.name} with out= or where= has no derivative, native or surrogate. "
            "Use its result, and np.where(mask, ...)."
        )
