"""The ops that turn floats into booleans and integers. None has a default: masks are everywhere.

A gradient is the derivative of the value cast to a float; ``argmax`` and ``argmin`` have theirs over the
one-hot vector of the index.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from surrogate._derived import (
    as_it_is,
    negated,
    of_difference,
    of_falling_difference,
    to_bool,
    to_integer,
)
from surrogate._op import Op
from surrogate._samples import Samples

_PAIRS = Samples(
    held=(0.0,),
    operands=((0.0,), (0.5,), (-1.0,), (np.inf,)),
    shaped=((0.5, -0.25, 1.5, -3.0, 0.5, 3.0),),
)
_BOUNDARIES = Samples(held=((-1.0, 1.0),))


def _argmax(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    return np.argmax(x, axis=axis, keepdims=keepdims)


def _argmin(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    return np.argmin(x, axis=axis, keepdims=keepdims)


def _astype(x: Any, to: str = "integer") -> Any:
    return x != 0 if to == "bool" else np.trunc(x).astype(np.int64)


def _searchsorted(x: Any, boundaries: Any, side: Any = "left") -> Any:
    if np.ndim(boundaries) == 1:
        return np.searchsorted(boundaries, x, side=side)
    rows = np.broadcast_to(boundaries, np.shape(x)[:-1] + np.shape(boundaries)[-1:])
    found = [np.searchsorted(b, row, side=side) for b, row in zip(*map(_in_rows, (rows, x)), strict=True)]
    return np.reshape(found, np.shape(x))


def _in_rows(x: Any) -> Any:
    return np.reshape(x, (-1, np.shape(x)[-1]))


def _ordering(name: str, forward: Any, sign: str) -> Op:
    how = of_difference if sign in (">", ">=") else of_falling_difference
    return Op(
        name,
        ("x", "y"),
        forward,
        doc=f"Whether x {sign} y.",
        output="bool",
        inherits=(("heaviside", how),),
        of_one=how,
        samples=_PAIRS,
    )


DISCRETE = (
    _ordering("greater", np.greater, ">"),
    _ordering("greater_equal", np.greater_equal, ">="),
    _ordering("less", np.less, "<"),
    _ordering("less_equal", np.less_equal, "<="),
    Op(
        "equal",
        ("x", "y"),
        np.equal,
        doc="Whether x == y.",
        output="bool",
        of_one=of_difference,
        samples=_PAIRS,
    ),
    Op(
        "not_equal",
        ("x", "y"),
        np.not_equal,
        doc="Whether x != y.",
        output="bool",
        inherits=(("equal", negated),),
        of_one=of_difference,
        samples=_PAIRS,
    ),
    Op(
        "argmax",
        ("x",),
        _argmax,
        attributes=("axis", "keepdims"),
        doc="The index of the largest along an axis, the first of equal ones.",
        output="integer",
        elementwise=False,
        one_hot=True,
    ),
    Op(
        "argmin",
        ("x",),
        _argmin,
        attributes=("axis", "keepdims"),
        doc="The index of the smallest along an axis, the first of equal ones.",
        output="integer",
        elementwise=False,
        one_hot=True,
    ),
    Op(
        "astype",
        ("x",),
        _astype,
        attributes=("to",),
        doc="x as an integer, which truncates, or with to='bool' as a boolean: x != 0.",
        output="integer",
        inherits=(("trunc", to_integer), ("not_equal", to_bool)),
    ),
    Op(
        "searchsorted",
        ("x", "boundaries"),
        _searchsorted,
        attributes=("side",),
        doc="How many of the sorted boundaries lie below x, with side='right' also those that equal it.",
        output="integer",
        elementwise=False,
        boundaries=True,
        inherits=(("heaviside", as_it_is),),
        samples=_BOUNDARIES,
    ),
)
