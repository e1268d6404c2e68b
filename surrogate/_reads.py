"""What a formula reads beside its arguments: globals, and values that it closes over.

Eager code follows such a value when it changes, compiled code does not: so a change is noticed, where an
override is entered and where it ends.
"""

from __future__ import annotations

import dis
import inspect
import types
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from surrogate._digest import digest
from surrogate._errors import FormulaError

#: Packages whose functions are not looked into.
_KNOWN = frozenset({"builtins", "functools", "math", "numpy", "operator", "surrogate"})
_FRAMEWORKS = frozenset({"autograd", "cupy", "jax", "keras", "mlx", "tensorflow", "torch"})
_NUMBERS = (bool, int, float, complex, np.generic)


def snapshot(function: object) -> dict[str, str]:
    """Name -> text of each number, array, or container of numbers that a formula reads."""
    return {name: text for name, value in _values(function, set()) if (text := _text(value)) is not None}


def changed(function: object, before: Mapping[str, str]) -> tuple[str, str, str] | None:
    """The first value that is another than in a snapshot: its name, what it was, what it is."""
    if not before:
        return None
    now = snapshot(function)
    return next(
        ((name, was, now[name]) for name, was in before.items() if now.get(name, was) != was),
        None,
    )


def refuse_tensors(function: object, label: str) -> None:
    """Refuse a formula that reads a framework's tensor, or a variable: it is a constant in compiled code.

    Raises:
        FormulaError: says how to give it as a parameter.
    """
    for name, value in _values(function, set()):
        root = type(value).__module__.partition(".")[0]
        if (hasattr(value, "dtype") and root in _FRAMEWORKS | {"jaxlib"}) or hasattr(value, "follow"):
            op, _, gradient = label.partition(":")
            raise FormulaError(
                f"{label} reads {name!r}, a {type(value).__name__}. Give it as a parameter: write "
                f"def {gradient}(xp, ..., *, {name}), and surrogate.gradient({op!r}, {gradient}, {name}=...) "
                "with a number, an array, or a surrogate.Variable, which may change."
            )


def foreign(function: object) -> str | None:
    """The framework's module that a formula uses in place of ``xp``, as it names it, or None."""
    for name, value in _loaded(function, set()):
        if isinstance(value, types.ModuleType) and value.__name__.partition(".")[0] in _FRAMEWORKS:
            return name
    return None


def _values(function: object, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Values that are neither functions nor modules; those of helper functions too."""
    for name, value in _loaded(function, seen):
        if isinstance(value, types.FunctionType):
            if (value.__module__ or "").partition(".")[0] not in _KNOWN:
                yield from _values(value, seen)
        elif not isinstance(value, types.ModuleType | type | types.BuiltinFunctionType | np.ufunc):
            yield name, value


def _loaded(function: object, seen: set[int]) -> Iterator[tuple[str, Any]]:
    function = inspect.unwrap(function) if callable(function) else function
    if not isinstance(function, types.FunctionType) or id(function) in seen:
        return
    seen.add(id(function))
    if (function.__module__ or "").partition(".")[0] in _KNOWN:
        return
    for name in sorted(set(_global_names(function.__code__))):
        if name in function.__globals__:
            yield name, function.__globals__[name]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not bound yet
            continue


def _global_names(code: types.CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)


def _text(value: Any) -> str | None:
    """A value as text; None for what is no number, and no array or container of numbers."""
    if isinstance(value, _NUMBERS):
        return repr(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        return f"an array {value.shape} of digest {digest(value.tobytes().hex())[:8]}"
    if isinstance(value, list | tuple) and value and all(isinstance(item, _NUMBERS) for item in value):
        return repr(value)
    if isinstance(value, dict) and value and all(isinstance(item, _NUMBERS) for item in value.values()):
        return repr(value)
    fields = getattr(value, "__dict__", None)
    if isinstance(fields, dict) and not callable(value):
        numbers = {name: item for name, item in fields.items() if isinstance(item, _NUMBERS)}
        return repr(numbers) if numbers else None
    return None
