"""What a function does, as text: equal for equal code in every process, or nothing.

Compilers key their caches on it, in memory and on disk, so it errs on one side only: where the
behaviour is not written in the code there is no text.
"""

from __future__ import annotations

import types

import numpy as np

from surrogate._derived import Derived

#: Packages that do the same in every process. What a formula takes from them counts by its name.
_KNOWN = frozenset({"builtins", "math", "numpy", "operator"})


class _UnwrittenError(Exception):
    """Part of the behaviour is a value that only this process knows."""


def fingerprint(function: object) -> str | None:
    """Text that changes whenever the behaviour written in ``function`` does.

    None when it depends on what its code does not say: what it closes over, an object's state, a global
    that can change in place.
    """
    try:
        return _text(function, set())
    except _UnwrittenError:
        return None


def _text(value: object, seen: set[int]) -> str:
    if isinstance(value, types.ModuleType):
        return value.__name__
    if str(getattr(value, "__module__", None)).partition(".")[0] in _KNOWN and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, types.FunctionType):
        return _function(value, seen)
    if isinstance(value, Derived):
        return repr((_text(value.how, seen), _text(value.base, seen), value.inputs, value.attributes))
    if isinstance(value, types.CodeType):
        # line numbers may move without changing a result: neither they nor the file's name count
        constants = [_text(constant, seen) for constant in value.co_consts]
        return repr((value.co_code.hex(), constants, value.co_names, value.co_varnames))
    if type(value) is tuple:
        return repr([_text(item, seen) for item in value])
    if type(value) is frozenset:
        return repr(sorted(_text(item, seen) for item in value))
    if isinstance(value, int | float | complex | str | bytes | np.generic | None | types.EllipsisType):
        return repr(value)
    if isinstance(value, np.ufunc):
        return value.__name__
    if isinstance(value, type) and value.__module__.partition(".")[0] == "surrogate":
        return value.__qualname__
    raise _UnwrittenError


def _function(function: types.FunctionType, seen: set[int]) -> str:
    if id(function) in seen:
        return function.__qualname__
    seen.add(id(function))
    if function.__closure__:
        raise _UnwrittenError
    defaults = [_text(value, seen) for value in function.__defaults__ or ()]
    named = [(name, _text(value, seen)) for name, value in sorted((function.__kwdefaults__ or {}).items())]
    reads = [
        (name, _text(function.__globals__[name], seen))
        for name in sorted(_names(function.__code__))
        if name in function.__globals__
    ]
    return repr((_text(function.__code__, seen), defaults, named, reads))


def _names(code: types.CodeType) -> set[str]:
    nested = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return set(code.co_names).union(*(_names(inner) for inner in nested))
