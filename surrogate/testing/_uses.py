"""What is done with booleans and integers, as the same expression of floats.

Each is written with the float twin of the value: what a framework makes of the value itself must have the
derivatives of this expression. They are found with dual numbers, exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from surrogate._dual import Dual

Array = npt.NDArray[Any]

#: A boolean beside the value, the same in every check.
MASK = np.array([[True, False, True], [True, True, False]])
_M = MASK.astype(np.float64)
_CLASSES = np.arange(3.0)


class Beside(NamedTuple):
    """What is beside the value."""

    u: Any
    v: Any
    table: Any
    mask: Any


@dataclass(frozen=True)
class Use:
    """One thing that is done with a boolean or an integer of shape (2, 3), or with an index of shape (2,).

    Attributes:
        of: what it is done with: ``"boolean"``, ``"integer"``, ``"number"`` (either) or ``"index"``.
        twin: ``twin(s, u, v, t)``: the result, of shape (2, 3), from the value as a float, of an index its
            one-hot vector, and the floats beside it: two of shape (2, 3) and a table of shape (3, 3).
    """

    of: str
    twin: Callable[..., Any]


USES: Mapping[str, Use] = {
    # as a number
    "cast": Use("number", lambda s, u, v, t: s),
    "times": Use("number", lambda s, u, v, t: s * u),
    "minus": Use("number", lambda s, u, v, t: u - s),
    "plus": Use("number", lambda s, u, v, t: s + u),
    "sum": Use("number", lambda s, u, v, t: s.sum((0, 1), keepdims=True) * u),
    "sum of an axis": Use("number", lambda s, u, v, t: s.sum(0) * u),
    "mean": Use("number", lambda s, u, v, t: s.sum(0) * u / 2),
    "integer arithmetic": Use("number", lambda s, u, v, t: s),  # d // 2 * 2 + 1, straight through
    "negative": Use("number", lambda s, u, v, t: -s * u),
    # moved about
    "reshape": Use("number", lambda s, u, v, t: (s.reshape(3, 2) * t[:, :2]).reshape(2, 3)),
    "transpose": Use("number", lambda s, u, v, t: (s.T * t[:, :2]).T),
    "slice": Use("number", lambda s, u, v, t: s[:, 1:2] * u),
    "constant index": Use("number", lambda s, u, v, t: s[[1, 0]] * u),
    "stack": Use("number", lambda s, u, v, t: s * u + s * v),
    "concatenate": Use("number", lambda s, u, v, t: s[:, [2, 0, 1]] * u),
    "expand": Use("number", lambda s, u, v, t: 4 * s * u),
    "squeeze": Use("number", lambda s, u, v, t: s * u),
    "split": Use("number", lambda s, u, v, t: s[:, 2:] * u),
    "to a device": Use("number", lambda s, u, v, t: s * u),
    # selection
    "where": Use("boolean", lambda s, u, v, t: s * u + (1 - s) * v),
    "where of numbers": Use("boolean", lambda s, u, v, t: (s * 3 + (1 - s) * 0.5) * u),
    "where, broadcast": Use("boolean", lambda s, u, v, t: s[:, :1] * u + (1 - s[:, :1]) * v),
    "masked assignment": Use("boolean", lambda s, u, v, t: s * 0.75 + (1 - s) * u),
    "masked assignment to a constant": Use("boolean", lambda s, u, v, t: s * 0.75 + (1 - s) * 2.0),
    # logic
    "not": Use("boolean", lambda s, u, v, t: (1 - s) * u),
    "and": Use("boolean", lambda s, u, v, t: s * _M * u),
    "or": Use("boolean", lambda s, u, v, t: (s + _M - s * _M) * u),
    "xor": Use("boolean", lambda s, u, v, t: (s + _M - 2 * s * _M) * u),
    "and of two with an origin": Use("boolean", lambda s, u, v, t: s * s[:, ::-1] * u),
    "all": Use("boolean", lambda s, u, v, t: s[0] * s[1] * u),
    "any": Use("boolean", lambda s, u, v, t: (1 - (1 - s[:, :1]) * (1 - s[:, 1:2]) * (1 - s[:, 2:])) * u),
    "count_nonzero": Use("boolean", lambda s, u, v, t: s.sum(0) * u),
    "integer and back": Use("boolean", lambda s, u, v, t: s * u),
    # an index
    "number": Use("index", lambda s, u, v, t: (s @ _CLASSES)[:, None] * u),
    "arithmetic of an index": Use("index", lambda s, u, v, t: (2 * (s @ _CLASSES) + 1)[:, None] * u),
    "one_hot": Use("index", lambda s, u, v, t: s * u),
    "table": Use("index", lambda s, u, v, t: s @ t),
    "columns": Use("index", lambda s, u, v, t: s @ t.T),
    "take_along_axis": Use("index", lambda s, u, v, t: (s * u).sum(1)[:, None] * v),
    "rows and index": Use("index", lambda s, u, v, t: (s * u).sum(1)[:, None] * v),
    "is a class": Use("index", lambda s, u, v, t: s[:, 1:2] * u),
    "is each class": Use("index", lambda s, u, v, t: s * u),
    "reshaped": Use("index", lambda s, u, v, t: s @ t),
}


def done_with(kind: str) -> list[str]:
    """The names of the uses of a ``"boolean"``, an ``"integer"`` or an ``"index"``."""
    fits = {kind, "number"} if kind != "index" else {kind}
    return [name for name, use in USES.items() if use.of in fits]


def jacobian(name: str, operands: Sequence[Array]) -> Array:
    """The derivatives of a use by its twin and by each float beside it: one row per entry of the result."""
    sizes = [x.size for x in operands]
    columns = iter(np.eye(sum(sizes)))
    duals = [_each(lambda value: Dual(value, next(columns)), x) for x in operands]
    found = USES[name].twin(*duals)
    return np.array([one.slope for one in found.ravel()])


def _each(make: Callable[[Any], Any], x: Array) -> Array:
    made = np.empty(x.size, object)
    made[:] = [make(value) for value in x.ravel()]
    return made.reshape(x.shape)
