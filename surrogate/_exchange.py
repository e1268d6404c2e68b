"""Catching the calls of a Python function whoever holds it, and leaving it as it was afterwards.

The function object stays the same, so that names imported before, aliases, and methods of objects made
before are caught too: only its code is exchanged, while an override of it is in force anywhere. The
stand-in has the same parameters, so that signatures, defaults and errors of wrong calls are the function's
own, and a compiler that knows its parameters by the function object is not misled.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import CodeType, FrameType, FunctionType
from typing import Any

from surrogate._target import FunctionTarget

Call = Callable[..., Any]

_FILE = "<surrogate: a function while an override of it is in force>"
_LOCK = threading.RLock()
#: path -> the exchange of that function; one per function and process, kept: compiled code may name it.
_EXCHANGES: dict[str, Exchange] = {}

# A function takes only code with as many free variables as its own has; a compiler that traces the
# stand-in can follow an import but not an object among the constants.
_SOURCE = """
def enclosing({free}):
    def stand_in({parameters}):
        from surrogate._exchange import dispatch as _surrogate_dispatch
        return _surrogate_dispatch({path!r}, ({positional}), {{{named}}})
        {free}
    return stand_in
"""


class Exchange:
    """One function whose calls can be caught.

    Attributes:
        target: the function.
        native: a function of the same behaviour that is never caught.
        catchers: what may answer a call, one per backend with an override of it in force:
            ``catch(path, native, args, kwargs)``.
    """

    def __init__(self, target: FunctionTarget) -> None:
        function = target.function
        self.target = target
        self.original = function.__code__
        given = function.__name__, function.__defaults__, function.__closure__
        self.native = FunctionType(self.original, function.__globals__, *given)
        self.native.__kwdefaults__ = function.__kwdefaults__
        self.native.__qualname__, self.native.__module__ = function.__qualname__, function.__module__
        self.native.__annotations__ = function.__annotations__
        self.code = _stand_in(function, target.path)
        self.catchers: dict[str, Catcher] = {}
        self._holds: dict[str, int] = {}

    def hold(self, name: str, catch: Catcher) -> None:
        """Catch calls for the backend of this name, until released as often."""
        with _LOCK:
            self._holds[name] = self._holds.get(name, 0) + 1
            self.catchers = {**self.catchers, name: catch}
            if self.target.function.__code__ is self.original:
                self.target.function.__code__ = self.code
                # TensorFlow's autograph, which would read the source, takes it for its own and calls it
                self.target.function.__dict__.setdefault("autograph_info__", self)

    def release(self, name: str) -> None:
        """One override less. After the last the function has its own code, if nobody gave it another."""
        with _LOCK:
            self._holds[name] -= 1
            if self._holds[name]:
                return
            del self._holds[name]
            self.catchers = {other: catch for other, catch in self.catchers.items() if other != name}
            if not self._holds and self.target.function.__code__ is self.code:
                self.target.function.__code__ = self.original
            if not self._holds and self.target.function.__dict__.get("autograph_info__") is self:
                del self.target.function.__dict__["autograph_info__"]


Catcher = Callable[[Exchange, Call, tuple[Any, ...], dict[str, Any]], Any]


def exchange(target: FunctionTarget) -> Exchange:
    """The exchange of this function."""
    with _LOCK:
        found = _EXCHANGES.get(target.path)
        if found is None or found.target.function is not target.function:
            found = _EXCHANGES[target.path] = Exchange(target)  # new, or its module was loaded again
        elif target.function.__code__ not in (found.code, found.original):
            found = _EXCHANGES[target.path] = Exchange(target)  # its author gave it other code
        return found


def exchanged(path: str) -> Exchange:
    """The exchange of a function that has been overridden."""
    return _EXCHANGES[path]


def surroundings(function: Any) -> dict[str, Any]:
    """What a function reads beside its arguments: what it closes over, and its globals, by name."""
    code, cells = _own(function), function.__closure__ or ()
    found = {name: function.__globals__[name] for name in code.co_names if name in function.__globals__}
    found.update({name: cell.cell_contents for name, cell in zip(code.co_freevars, cells, strict=True)})
    return found


def _own(function: Any) -> CodeType:
    """A function's own code, while it is exchanged too."""
    given = [found.original for found in _EXCHANGES.values() if found.target.function is function]
    code: CodeType = given[0] if given else function.__code__
    return code


def paths(codes: Iterable[CodeType]) -> list[str]:
    """The functions, among those ever overridden, that have one of these codes, their own or the stand-in."""
    wanted = set(codes)
    return [path for path, found in list(_EXCHANGES.items()) if wanted & {found.code, found.original}]


def dispatch(path: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a stand-in calls: the function itself, inside whatever backends have a rule for it."""
    found = _EXCHANGES[path]
    call: Call = found.native
    for catch in found.catchers.values():
        call = _caught(catch, found, call)
    return call(*args, **kwargs)


def caller() -> FrameType | None:
    """From where the exchanged function is being called."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != _FILE:
        frame = frame.f_back
    return None if frame is None else frame.f_back


def _caught(catch: Catcher, found: Exchange, call: Call) -> Call:
    return lambda *args, **kwargs: catch(found, call, args, kwargs)


def _stand_in(function: FunctionType, path: str) -> CodeType:
    """Code of the same parameters and free variables that hands its arguments on."""
    original = function.__code__
    count, only, names = original.co_argcount, original.co_posonlyargcount, list(original.co_varnames)
    plain, named = names[:count], names[count : count + original.co_kwonlyargcount]
    rest = names[count + len(named) :]
    more = f"*{rest.pop(0)}" if original.co_flags & CO_VARARGS else ""
    other = f"**{rest.pop(0)}" if original.co_flags & CO_VARKEYWORDS else ""
    parameters = [*plain[:only], *(["/"] if only else []), *plain[only:], more or ("*" if named else "")]
    source = _SOURCE.format(
        free=", ".join(original.co_freevars),
        parameters=", ".join(filter(None, [*parameters, *named, other])),
        positional="".join(f"{name}, " for name in [*plain, more] if name),
        named=", ".join([*(f"{name!r}: {name}" for name in named), *filter(None, [other])]),
        path=path,
    )
    namespace: dict[str, Any] = {}
    exec(compile(source, _FILE, "exec"), namespace)
    code: CodeType = namespace["enclosing"](*original.co_freevars).__code__
    return code.replace(co_name=original.co_name, co_qualname=original.co_qualname)
