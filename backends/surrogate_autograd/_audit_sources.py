"""What a program is differentiated by: the float arrays in the arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from surrogate import SpecError
from surrogate.auditing import Wanted

Array = Any
Named = tuple[str, Array]


def leaves(x: Any, name: str = "") -> Iterator[Named]:
    """The float arrays and numbers in nested dicts, lists and tuples, with their names."""
    if isinstance(x, Mapping):
        for key, value in x.items():
            yield from leaves(value, f"{name}.{key}" if name else str(key))
    elif isinstance(x, (list, tuple)):
        for number, value in enumerate(x):
            yield from leaves(value, f"{name}[{number}]")
    elif isinstance(x, (float, np.floating)) or (isinstance(x, np.ndarray) and x.dtype.kind in "fc"):
        yield name, x


def mapped(x: Any, change: Callable[[str, Array], Any], name: str = "") -> Any:
    """The same nested value with every such leaf replaced."""
    if isinstance(x, Mapping):
        return {key: mapped(value, change, f"{name}.{key}" if name else str(key)) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        new = [mapped(value, change, f"{name}[{number}]") for number, value in enumerate(x)]
        return type(x)(*new) if hasattr(x, "_fields") else type(x)(new)
    return change(name, x) if any(True for _ in leaves(x)) else x


def named(argnums: int | Sequence[int], args: Sequence[Any], wanted: Wanted) -> dict[int, str]:
    """Position of the argument -> beginning of its leaves' names; an array itself is named so.

    Raises:
        SpecError: there is no such argument, or nothing to differentiate by in it.
    """
    if wanted.arrays:
        arrays = {id(x) for x in wanted.arrays.values()}
        found = [k for k, arg in enumerate(args) if any(id(x) in arrays for _, x in leaves(arg))]
        if not found:
            raise SpecError("wrt= names arrays among the arguments of the function, and these are none.")
    else:
        found = [argnums] if isinstance(argnums, int) else list(argnums)
    for k in found:
        if not -len(args) <= k < len(args):
            raise SpecError(f"argnums={k}: the function was given {len(args)} arguments.")
        if not any(True for _ in leaves(args[k])):
            raise SpecError(f"argument {k} holds no float array to differentiate by.")
    one = len(found) == 1
    return {k % len(args): "" if one and not _is_leaf(args[k]) else f"arg{k}" for k in found}


def _is_leaf(x: Any) -> bool:
    return not isinstance(x, (Mapping, list, tuple))
