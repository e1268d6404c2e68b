"""Exchange what a Python function does, in place, so that every name it was imported under follows."""

from __future__ import annotations

import importlib
import inspect
import operator
import types
from collections.abc import Callable
from typing import Any

import surrogate
from surrogate_tensorflow._hooks import TESTED

Handler = Callable[..., Any]

_KEY = "key of the swap"
_entered: dict[str, Callable[..., Any]] = {}


def _trampoline(*args: Any, **kwargs: Any) -> Any:
    from surrogate_tensorflow._swap import enter

    return enter("key of the swap", args, kwargs)


def enter(key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run the handler of a swapped function."""
    return _entered[key](*args, **kwargs)


def exists(module: str, name: str) -> bool:
    """Whether this version of the framework has the function."""
    try:
        find(module, name)
    except (ImportError, AttributeError):
        return False
    return True


def find(module: str, name: str) -> Any:
    """The function itself, without decorators."""
    return inspect.unwrap(operator.attrgetter(name)(importlib.import_module(module)))


class Swap:
    """One function of a framework and the handler that stands in for it while switched on.

    Args:
        module: where it is defined.
        name: its name there; ``Class.method`` for a method.
        handler: called as ``handler(native, *args, **kwargs)``.

    Raises:
        IncompatibleFrameworkError: it is no plain function, so it cannot be exchanged.
    """

    def __init__(self, module: str, name: str, handler: Handler) -> None:
        self.key = f"{module}.{name}"
        function = find(module, name)
        if not isinstance(function, types.FunctionType) or function.__closure__:
            raise surrogate.IncompatibleFrameworkError(
                f"{self.key} is no plain function, so what it does cannot be exchanged: "
                f"{function!r}; tested with TensorFlow {TESTED}."
            )
        self._function = function
        self._code = function.__code__
        self._signature = inspect.signature(function)
        native = types.FunctionType(
            function.__code__, function.__globals__, function.__name__, function.__defaults__
        )
        native.__kwdefaults__ = function.__kwdefaults__
        code = _trampoline.__code__
        self._ours = code.replace(
            co_name=function.__name__,
            co_consts=tuple(self.key if c == _KEY else c for c in code.co_consts),
        )
        _entered[self.key] = lambda *args, **kwargs: handler(native, *args, **kwargs)

    def switch(self, on: bool) -> None:
        """Put the handler in, or take it out."""
        self._function.__code__ = self._ours if on else self._code
        if on:  # what Keras reads of a layer's call
            self._function.__dict__["__signature__"] = self._signature
        else:
            self._function.__dict__.pop("__signature__", None)
