"""The operands of one call of a JAX function, by the names of its parameters.

``jit`` takes what it is given apart into arrays: an operand that is no array but turns into one (a
``Param`` of flax, a quantity with a unit) reaches the primitive as its parts. So operands are read off
the call as it was written, and turned into the arrays that JAX's own functions make of them.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Mapping
from types import FunctionType
from typing import Any, NamedTuple

import jax

#: Parameters that are no operands.
_STATIC = frozenset({"decimals", "out"})
#: Older names of parameters -> today's.
_RENAMED = {"a": "arr", "a_min": "min", "a_max": "max"}


class JitCall(NamedTuple):
    """A call of a function through ``jit``, as it was written: what was jitted, and what it was given."""

    function: FunctionType
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    def given(self) -> Mapping[str, Any]:
        """What was given, by parameter, in the order of the signature."""
        return _signature(self.function).bind(*self.args, **self.kwargs).arguments

    def decimals(self) -> int:
        """The ``decimals`` that were given; 0 of a function without."""
        return operator.index(self.given().get("decimals", 0))

    def operands(self) -> dict[str, Any] | None:
        """The arrays by parameter, in the order of the signature; None if one is no array.

        What is absent (``None``, a default that holds no array) is left out.
        """
        renamed = _RENAMED if self.function.__name__ == "clip" else {}
        found = {}
        for name, value in self.given().items():
            array = as_array(value)
            if name in _STATIC or not (is_leaf(array) or jax.tree.leaves(array)):
                continue
            if not is_leaf(array):
                return None
            found[renamed.get(name, name)] = array
        return found


def as_array(x: Any) -> Any:
    """``x``, or the array that it turns into by ``__jax_array__``."""
    while not isinstance(x, jax.Array) and hasattr(x, "__jax_array__"):
        x = x.__jax_array__()
    return x


def is_leaf(x: Any) -> bool:
    """Whether JAX takes ``x`` as one value, and not apart."""
    return bool(jax.tree_util.all_leaves([x]))


def may_be_traced(x: Any) -> bool:
    """Whether ``x``, a leaf, is a tracer or may turn into one."""
    return isinstance(x, jax.core.Tracer) or (not isinstance(x, jax.Array) and hasattr(x, "__jax_array__"))


@functools.lru_cache(maxsize=256)
def _signature(function: FunctionType) -> inspect.Signature:
    return inspect.signature(function)
