"""The gradient of a whole function: what is asked for, as an object with an identity."""

from __future__ import annotations

import math
import numbers
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from surrogate._digest import digest
from surrogate._errors import ParameterError, SpecError, UnknownGradientError, UnknownParameterError
from surrogate._fingerprint import fingerprint
from surrogate._formula import process_unique
from surrogate._native import NativeFormula, find_formula, read_native
from surrogate._spec import parse, without_owner
from surrogate._suggest import unknown
from surrogate._target import FunctionTarget, find

#: The gradients that every function has: name -> parameters.
GRADIENTS: Mapping[str, tuple[str, ...]] = {
    "identity": (),
    "zero": (),
    "scaled": ("factor",),
    "clipped": ("lo", "hi"),
    "of": ("function",),
}


@dataclass(frozen=True)
class Of:
    """See :func:`of`."""

    function: str | Callable[..., Any]
    inner: bool = False


def of(function: str | Callable[..., Any], *, inner: bool = False) -> Of:
    """The gradient of another function of the same arguments, for a function that is overridden.

    The forward value stays that of the overridden function, the derivative is that of ``function``,
    evaluated at the same arguments (backward pass differentiable approximation, BPDA: Athalye, Carlini,
    Wagner 2018, arXiv 1802.00420). It must return as many floating arrays, of the same shapes. What it
    closes over gets its gradient too.

    Args:
        function: a callable, or the import path of one.
        inner: whether overrides of ops and functions act inside of ``function``.
    """
    if not isinstance(function, str) and not callable(function):
        raise SpecError(f"of(...) takes a function or its import path, not {function!r}.")
    return Of(function, inner)


@dataclass(frozen=True)
class FunctionGradient:
    """What the gradient of one function is. Hashable, picklable; equal ones have one :attr:`digest`.

    Attributes:
        target: the function.
        name: ``identity``, ``zero``, ``scaled``, ``clipped``, ``of``, or the formula's name.
        params: its parameters.
        other: for ``of``: the callable whose derivative is taken.
        asked: for ``of``: how it was given, as a path or the callable.
        formula: a formula of ``call`` and ``g``, or None.
        inner: whether overrides act inside of ``other`` and of the formula.
        digest: hex text; equal in every process where the function and what it is given have names.
    """

    target: FunctionTarget = field(compare=False)
    name: str
    params: tuple[tuple[str, Any], ...] = ()
    other: Callable[..., Any] | None = field(default=None, compare=False)
    asked: str | Callable[..., Any] | None = field(default=None, compare=False)
    formula: NativeFormula | None = field(default=None, compare=False)
    inner: bool = False
    digest: str = ""

    @property
    def path(self) -> str:
        """The function's import path, the key of its rule."""
        return self.target.path

    @property
    def spec(self) -> str:
        """How the gradient is written: ``scaled(factor=0.5)``."""
        given = [f"{name}={value!r}" for name, value in self.params]
        if self.inner:
            given.append("inner=True")
        return f"{self.name}({', '.join(given)})" if given else self.name

    @property
    def id(self) -> str:
        """``mypkg.quant.weight_quant:identity``."""
        return f"{self.path}:{self.spec}"

    def __repr__(self) -> str:
        return f"FunctionGradient({self.id!r})"

    def __str__(self) -> str:
        return self.spec

    def __hash__(self) -> int:
        return hash(self.digest)

    def __reduce__(self) -> Any:
        what = self.asked if self.formula is None else self.formula.function
        things: tuple[Any, ...] = (self.target.function, what)
        for thing in things:
            if "<" in getattr(thing, "__qualname__", ""):
                raise pickle.PicklingError(
                    f"{self.id} cannot be pickled: another process cannot find {thing.__qualname__} by name. "
                    "Define it at the top level of a module."
                )
        if self.formula is not None:
            return _rebuild, (self.path, what, dict(self.params))
        return _rebuild, (self.path, self.spec if what is None else Of(what, self.inner), {})


def function_gradient(target: FunctionTarget, spec: object) -> FunctionGradient:
    """The gradient of a function that a spec names.

    Args:
        target: the function.
        spec: ``"identity"``, ``"zero"``, ``"scaled(factor=0.5)"``, ``"clipped(lo=-1, hi=1)"``,
            ``"of('other.function')"``, the name of a formula that was registered for the function, what
            :func:`of` returns, or a formula ``def name(call, g)``.

    Raises:
        UnknownGradientError, UnknownParameterError: a name that is not known.
        ParameterError: a value that cannot be used.
        SpecError: it cannot be read.
    """
    if isinstance(spec, FunctionGradient):
        if spec.path != target.path:
            raise SpecError(f"{spec.id} is a gradient for {spec.path}, not for {target.path}.")
        return spec
    if isinstance(spec, Of):
        return _of(target, spec.function, spec.inner)
    if isinstance(spec, str):
        return _read(target, spec)
    if callable(spec):
        return _with_formula(target, read_native(None, target.path, spec, name=None, jvp=None), {})
    raise SpecError(
        f"{spec!r} ({type(spec).__name__}) is no gradient for the function {target.path}: give a string like "
        "'identity' or \"of('other.function')\", surrogate.of(function), or a formula def name(call, g)."
    )


def _read(target: FunctionTarget, spec: str) -> FunctionGradient:
    spec = without_owner(spec, target.path)
    name, given = parse(spec, positional=("function",) if spec.lstrip().startswith("of") else ())
    inner = given.pop("inner", False)
    if not isinstance(inner, bool):
        raise ParameterError(f"{target.path}:{name}: inner must be True or False, not {inner!r}.")
    if name not in GRADIENTS:
        formula = find_formula(None, target.path, name)
        if formula is None:
            raise UnknownGradientError(
                unknown("gradient", name, [*GRADIENTS, "native"], where=f" of the function {target.path}")
            )
        return _with_formula(target, formula, given, inner)
    for parameter in given:
        if parameter not in GRADIENTS[name]:
            raise UnknownParameterError(
                unknown(
                    "parameter", parameter, [*GRADIENTS[name], "inner"], where=f" of {target.path}:{name}"
                )
            )
    for parameter in GRADIENTS[name]:
        if parameter not in given:
            raise ParameterError(f"{target.path}:{name}: {parameter} has no default; give it.")
    if name == "of":
        return _of(target, given["function"], inner)
    params = tuple((key, _number(given[key], f"{target.path}:{name}", key)) for key in GRADIENTS[name])
    if name == "clipped" and params[0][1] > params[1][1]:
        raise ParameterError(f"{target.path}:clipped: lo must not be above hi, not {params}.")
    return _made(target, name, params, inner=inner)


def _number(value: object, owner: str, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
        raise ParameterError(f"{owner}: {name} must be a finite number, not {value!r}.")
    return float(value) + 0.0


def _of(target: FunctionTarget, function: object, inner: bool) -> FunctionGradient:
    other = find(function) if isinstance(function, str) else function
    if not callable(other):
        raise SpecError(f"{target.path}:of({function!r}): it cannot be called.")
    if other is target.function:
        raise SpecError(f"{target.path}:of({function!r}) is the function itself; name another one.")
    named = f"{getattr(other, '__module__', '')}.{getattr(other, '__qualname__', '')}"
    shown = function if isinstance(function, str) else named if "<" not in named else f"<{named}>"
    code = fingerprint(other) or (shown if isinstance(function, str) else process_unique(other))
    return _made(target, "of", (("function", shown),), inner=inner, code=code, other=other, asked=function)


def _with_formula(
    target: FunctionTarget, formula: NativeFormula, given: Mapping[str, object], inner: bool = False
) -> FunctionGradient:
    return _made(
        target, formula.name, formula.bind(given), inner=inner, code=formula.version, formula=formula
    )


def _made(
    target: FunctionTarget,
    name: str,
    params: tuple[tuple[str, Any], ...],
    *,
    inner: bool,
    code: str = "",
    other: Any = None,
    asked: Any = None,
    formula: NativeFormula | None = None,
) -> FunctionGradient:
    key = digest(repr(("function", target.path, name, params, inner, code)))
    return FunctionGradient(target, name, params, other, asked, formula, inner, key)


def _rebuild(path: str, what: Any, params: dict[str, float]) -> FunctionGradient:
    """Unpickle."""
    from surrogate._target import target

    found = target(path)
    if callable(what) and not isinstance(what, Of):
        return _with_formula(found, read_native(None, path, what, name=None, jvp=None), params)
    return function_gradient(found, what)
