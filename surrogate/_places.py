"""Where rules hold: code by its dotted name, and the place in the user's code that an op is called from."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Sequence
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple

from surrogate._errors import SpecError

#: How many functions, or names of them, are remembered: notebooks make new ones for ever.
_REMEMBERED = 8192

_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_ANONYMOUS = re.compile(r"(\.<[^>]*>)+")  # .<locals>, .<lambda>, .<listcomp>, .<module>


class Site(NamedTuple):
    """A place in the user's code.

    Attributes:
        file, line: where it is.
        name: the module and the function, dotted: ``"mynet.layers.Quant.forward"``. Functions defined inside
            others are named after them, lambdas and comprehensions as the function they stand in.
        path: the name of the module of the model that ran it, such as ``"encoder.0.act"``, if there is one.
    """

    file: str
    line: int
    name: str
    path: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.name.rpartition('.')[2]}"


class Places:
    """The code in which the rules of an override hold. Equal ones are the identical object.

    Attributes:
        within: dotted names of modules, packages, classes, functions or methods; empty for all code.
        outside: the same, of code that is left out.
    """

    __slots__ = ("_known", "outside", "within")

    within: tuple[str, ...]
    outside: tuple[str, ...]
    _known: dict[str, bool]

    def __new__(cls, within: tuple[str, ...], outside: tuple[str, ...]) -> Places:
        with _lock:
            found = _interned.get((within, outside))
            if found is None:
                found = _interned[within, outside] = super().__new__(cls)
                found.within, found.outside, found._known = within, outside, {}
            return found

    def hold(self, name: str) -> bool:
        """Whether rules hold in the code of this dotted name."""
        known = self._known.get(name)
        if known is None:
            known = (not self.within or _covers(self.within, name)) and not _covers(self.outside, name)
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[name] = known
        return known

    def __reduce__(self) -> tuple[type[Places], tuple[tuple[str, ...], tuple[str, ...]]]:
        return Places, (self.within, self.outside)

    def __repr__(self) -> str:
        given = {"within": self.within, "outside": self.outside}
        return ", ".join(f"{word}={_shown(names)}" for word, names in given.items() if names)


_interned: dict[tuple[tuple[str, ...], tuple[str, ...]], Places] = {}
_lock = threading.Lock()


def _shown(names: Sequence[str]) -> str:
    return repr(names[0]) if len(names) == 1 else repr(list(names))


def _covers(names: Iterable[str], name: str) -> bool:
    return any(is_part_of(name, given) for given in names)


def is_part_of(name: str, given: str) -> bool:
    """Whether the code of a dotted name is that of ``given`` or lies in it."""
    return name == given or name.startswith(f"{given}.")


def read_places(within: Any, outside: Any) -> Places | None:
    """What ``within=`` and ``outside=`` say; None where they say nothing.

    Raises:
        SpecError: one is neither a dotted name nor a list of them.
    """
    inside, out = _names("within", within), _names("outside", outside)
    if within is not None and not inside:
        raise SpecError("within=[] leaves no code in which the rules would hold: leave it out, or name some.")
    return Places(inside, out) if inside or out else None


def _names(word: str, given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    several = isinstance(given, list | tuple | set | frozenset)
    return tuple(sorted({_name(word, one) for one in (given if several else (given,))}))


def _name(word: str, given: Any) -> str:
    if isinstance(given, ModuleType):
        return given.__name__
    if isinstance(qualified := getattr(given, "__qualname__", None), str):
        return _dotted(given.__module__, qualified)
    if isinstance(given, str) and _DOTTED.fullmatch(given):
        return given
    raise SpecError(
        f"{word}={given!r}: code is named by the dotted name of a module, package, class, function or "
        f"method, as in {word}='mynet.layers', or by a list of them."
    )


def _dotted(module: str, qualified: str) -> str:
    return _ANONYMOUS.sub("", f"{module}.{qualified}")


class Callers:
    """Finds the user's code on the stack: the nearest frame that is neither the framework's nor ours.

    Args:
        packages: import names of the packages whose code is passed over.
        original: where code that the framework made from the user's comes from; None for code as written.
        tracers: functions, as ``"module:name"``, that trace a function once for all its callers. What is
            called in them by no code of the user's is nobody's: whoever calls first must not decide for all.
    """

    def __init__(
        self,
        packages: Iterable[str],
        original: Callable[[FrameType], Site | None] = lambda frame: None,
        tracers: Iterable[str] = (),
    ) -> None:
        self._packages = frozenset(packages)
        self.original = original
        self._tracers = frozenset(tracers)
        self._known: dict[int, tuple[CodeType, str, bool]] = {}

    def user_frame(self, frame: FrameType | None) -> FrameType | None:
        """The nearest frame of the user's, this one or an outer one; None if there is none."""
        while frame is not None and not self.ends_at(frame):
            frame = frame.f_back
        return frame if frame is not None and self._known[id(frame.f_code)][1] else None

    def ends_at(self, frame: FrameType) -> bool:
        """Whether the search ends at a frame: it runs code of the user's, or traces for many callers."""
        code = frame.f_code
        found = self._known.get(id(code))
        if found is None or found[0] is not code:
            found = self._learn(frame)
        return found[2]

    def name(self, frame: FrameType | None) -> str:
        """The dotted name of the nearest code of the user's; empty if there is none."""
        found = self.user_frame(frame)
        return "" if found is None else self._known[id(found.f_code)][1]

    def is_passed_over(self, module: str) -> bool:
        """Whether code of this module is not the user's."""
        return module.partition(".")[0] in self._packages

    def _learn(self, frame: FrameType) -> tuple[CodeType, str, bool]:
        code = frame.f_code
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        # the code object is kept: another one at the same address must not be taken for it
        name = self.name_of(code, frame.f_globals)
        made = self.original(frame) if name else None
        ends = bool(name) or f"{frame.f_globals.get('__name__')}:{code.co_name}" in self._tracers
        found = self._known[id(code)] = (code, name if made is None else made.name, ends)
        return found

    def name_of(self, code: CodeType, module_globals: dict[str, Any]) -> str:
        """The dotted name of a function by its code; empty where it is passed over."""
        module = module_globals.get("__name__")
        if not isinstance(module, str):
            return ""  # run by exec, as generated code is: whoever runs it decides
        if self.is_passed_over(module):
            return ""
        if module == "__main__" and (spec := module_globals.get("__spec__")) is not None:
            module = spec.name  # python -m: the module's own name
        return _dotted(module, code.co_qualname)
