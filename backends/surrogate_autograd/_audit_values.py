"""Arrays that autograd does not trace, but an audit does: what sign, comparisons and argmax return.

They are NumPy arrays to the program. What is made of them, and where they leave for Python, is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from surrogate_autograd._hooks import isbox

Array = Any


class Follower(Protocol):
    """Who is told of the calls that such arrays go through."""

    def untraced(self, name: str, operands: Any, result: Any) -> Any:
        """A function returned ``result``; returns it as an array that is followed."""

    def left(self, name: str, array: Followed, value: Any) -> Any:
        """An array leaves for Python as ``value``; returns what the program gets."""


class Followed(np.ndarray[Any, Any]):
    """An array whose way through the program is recorded.

    Attributes:
        follower: who is told; None once the recording has ended.
        vid: the id of its value; None for a view that nobody has asked for yet.
        base_of: the array that it is a view of.
    """

    follower: Follower | None = None
    vid: int | None = None
    base_of: Followed | None = None

    def __array_finalize__(self, obj: Any) -> None:
        if isinstance(obj, Followed):
            self.follower, self.base_of = obj.follower, obj

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(map(isbox, inputs)):
            return NotImplemented  # the box knows what to do
        result = getattr(ufunc, method)(*map(plain, inputs), **{k: plain(v) for k, v in kwargs.items()})
        name = ufunc.__name__ if method == "__call__" else _REDUCED.get(ufunc.__name__, method)
        return self._told(name, inputs, result)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        result = func(*plain(args), **plain(kwargs))
        return self._told(func.__name__, (*args, *kwargs.values()), result)

    def __getitem__(self, key: Any) -> Any:
        return self._told("__getitem__", (self,), plain(self)[plain(key)])

    def __iter__(self) -> Iterator[Any]:
        return (self[number] for number in range(len(self)))

    def __float__(self) -> float:
        return float(self._left("item", float))

    def __int__(self) -> int:
        return int(self._left("item", int))

    def __bool__(self) -> bool:
        return bool(self._left("bool", bool))

    def item(self, *args: Any) -> Any:
        return self._left("item", lambda array: array.item(*args))

    def tolist(self) -> Any:
        return self._left("tolist", lambda array: array.tolist())

    def _told(self, name: str, operands: Any, result: Any) -> Any:
        return result if self.follower is None else self.follower.untraced(name, operands, result)

    def _left(self, name: str, convert: Callable[[Array], Any]) -> Any:
        value = convert(plain(self))
        return value if self.follower is None else self.follower.left(name, self, value)


#: What a reduction by a ufunc is called.
_REDUCED = {"add": "sum", "multiply": "prod", "maximum": "amax", "minimum": "amin"}


def plain(x: Any) -> Any:
    """The same without arrays that are followed."""
    if isinstance(x, Followed):
        return x.view(np.ndarray)
    if type(x) in (tuple, list):
        return type(x)(map(plain, x))
    return {key: plain(value) for key, value in x.items()} if type(x) is dict else x


def followed(x: Any) -> Iterator[Followed]:
    """The followed arrays in nested lists and tuples."""
    if isinstance(x, Followed):
        yield x
    elif type(x) in (tuple, list):
        for one in x:
            yield from followed(one)
