"""A function named by its import path or by itself, found or refused with a reason."""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType
from typing import Any, NamedTuple

from surrogate._errors import UnknownOpError, UnsupportedOpError
from surrogate._suggest import nearest

#: Wrappers that call the Python function in this attribute, each time and in Python.
_INNER = ("__func__", "fget", "python_function", "_torchdynamo_orig_callable", "__wrapped__")


class FunctionTarget(NamedTuple):
    """A Python function whose calls can be caught.

    Attributes:
        path: ``module.qualified_name``, how it is named in rules.
        function: the function object.
        method: whether its first argument is the object it is a method of.
    """

    path: str
    function: Any
    method: bool


def target(key: object) -> FunctionTarget:
    """The function that a rule's key means: an object, or an import path.

    Raises:
        UnknownOpError: nothing can be imported under this path; says how far it could be followed.
        UnsupportedOpError: it is no function written in Python, or one that cannot be exchanged; says why.
    """
    found = find(key) if isinstance(key, str) else key
    label = key if isinstance(key, str) else repr(found)
    function = _unwrap(found, label)
    _check(function, label)
    path = f"{function.__module__}.{function.__qualname__}"
    if "<locals>" in function.__qualname__:
        path += f"#{id(function):x}"  # each call of the outer function makes another one
    return FunctionTarget(path, function, _is_method(function))


def find(path: str) -> Any:
    """The object at an import path: the longest module, then attribute by attribute.

    Raises:
        UnknownOpError: there is none; names the nearest.
    """
    parts = path.split(".")
    found: Any = None
    for end in range(len(parts), 0, -1):
        name = ".".join(parts[:end])
        try:
            found = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise  # the module is there, and imports something that is not
            continue
        break
    else:
        raise UnknownOpError(f"unknown function {path!r}: there is no module {parts[0]!r} to import.")
    for at in range(end, len(parts)):
        if not hasattr(found, parts[at]):
            near = nearest(parts[at], [name for name in dir(found) if not name.startswith("__")])
            hint = f": did you mean {' or '.join(map(repr, near))}?" if near else "."
            raise UnknownOpError(
                f"unknown function {path!r}: {'.'.join(parts[:at])} has no {parts[at]!r}{hint}"
            )
        owner, found = found, getattr(found, parts[at])
        if isinstance(owner, type) and isinstance(vars(owner).get(parts[at]), staticmethod | property):
            found = vars(owner)[parts[at]]
    return found


def _unwrap(found: Any, label: object) -> Any:
    """The Python function behind methods, jitted and compiled functions."""
    for wrapped in _wrappers(found):
        if isinstance(wrapped, functools.partial):
            raise _refused(label, "it is a functools.partial; name the function it was made of")
        if hasattr(wrapped, "cache_info"):
            raise _refused(label, "functools.lru_cache keeps its results, whatever the rules are")
        if _has_rule(wrapped):
            raise _refused(label, "it has a derivative of its own; name a function that calls it")
        found = wrapped
    return found


def _wrappers(found: Any) -> Iterator[Any]:
    yield found
    while not isinstance(found, FunctionType):
        inner = next(
            (getattr(found, name) for name in _INNER if getattr(found, name, None) is not None), None
        )
        if inner is None or isinstance(found, type):
            return
        found = inner
        yield found


def _has_rule(found: Any) -> bool:
    """Whether it is one of the frameworks' functions with a derivative given by its author."""
    kinds = type(found).__mro__
    return any(
        kind.__name__ in ("custom_jvp", "custom_vjp") and kind.__module__.startswith("jax") for kind in kinds
    )


def _check(function: Any, label: object) -> None:
    if isinstance(function, type):
        raise _refused(label, "it is a class; name a method, as in 'Class.forward' or 'Class.__call__'")
    if isinstance(function, BuiltinFunctionType) or not isinstance(function, FunctionType):
        kind = type(function).__name__
        raise _refused(label, f"it is not written in Python ({kind}), so its calls cannot be caught")
    if function.__name__ == "<lambda>":
        raise _refused(label, "it is a lambda; give it a name with def")
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        raise _refused(label, "it is a generator or coroutine function, which has no value to differentiate")
    if inspect.isasyncgenfunction(function):
        raise _refused(label, "it is an asynchronous generator, which has no value to differentiate")
    module = function.__module__ or ""
    if module.partition(".")[0] in ("surrogate", "builtins"):
        raise _refused(label, f"it is part of {module.partition('.')[0]}")
    if _is_autograd_function(function):
        raise _refused(
            label, "a torch.autograd.Function has a derivative of its own; name a function that calls it"
        )


def _is_autograd_function(function: FunctionType) -> bool:
    owner = _owner(function)
    return owner is not None and any(
        f"{kind.__module__}.{kind.__name__}" == "torch.autograd.function.Function" for kind in owner.__mro__
    )


def _owner(function: FunctionType) -> type | None:
    """The class that a function was defined in, if it can be found by name."""
    found: Any = sys.modules.get(function.__module__ or "")
    for part in function.__qualname__.split(".")[:-1]:
        found = getattr(found, part, None)
    return found if isinstance(found, type) else None


def _is_method(function: FunctionType) -> bool:
    owner, code = _owner(function), function.__code__
    if owner is not None:
        return not isinstance(vars(owner).get(function.__name__), staticmethod)
    where = function.__qualname__.rpartition(".")[0]
    first = code.co_varnames[0] if code.co_argcount else ""
    return bool(where) and not where.endswith("<locals>") and first in ("self", "cls")


def _refused(label: object, why: str) -> UnsupportedOpError:
    return UnsupportedOpError(f"the function {label} cannot be overridden: {why}.")
