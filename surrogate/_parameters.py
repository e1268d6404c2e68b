"""Parameters of a gradient: keyword-only, typed, checked when a gradient is made.

A formula says what it accepts in its signature: ``width: Positive = 1.0``.
"""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from surrogate._errors import FormulaError, ParameterError, UnknownParameterError
from surrogate._learned import is_learned, learned
from surrogate._suggest import unknown
from surrogate._variable import (
    FixedArray,
    ParameterValue,
    Variable,
    as_array,
    first_bad,
    is_array,
    refuse_variable,
)


@dataclass(frozen=True, kw_only=True)
class Range:
    """The numbers a parameter may take: above ``gt``, at least ``ge``, below ``lt``, at most ``le``.

    As an annotation of a parameter, ``leak: Range(ge=0, lt=1) = 0.1``, or inside one,
    ``Annotated[float, Range(ge=0)]``.
    """

    gt: float = -math.inf
    ge: float = -math.inf
    lt: float = math.inf
    le: float = math.inf

    def __contains__(self, value: float) -> bool:
        return bool(self.contains(value))

    def contains(self, values: Any) -> Any:
        """Which elements of an array it contains."""
        return (self.gt < values) & (values < self.lt) & (self.ge <= values) & (values <= self.le)

    def __str__(self) -> str:
        parts = []
        if self.gt > -math.inf:
            parts.append(f"above {self.gt:g}")
        if self.ge > -math.inf:
            parts.append(f"at least {self.ge:g}")
        if self.lt < math.inf:
            parts.append(f"below {self.lt:g}")
        if self.le < math.inf:
            parts.append(f"at most {self.le:g}")
        return " and ".join(parts) or "finite"


Positive = Annotated[float, Range(gt=0)]
NonNegative = Annotated[float, Range(ge=0)]
AboveOne = Annotated[float, Range(gt=1)]

_EVERYTHING = Range()
_REQUIRED = inspect.Parameter.empty


@dataclass(frozen=True)
class Parameter:
    """One keyword-only parameter of a formula.

    Attributes:
        name: as in the formula's signature.
        default: its default value; None where the caller must give one.
        range: the values it accepts.
        whole: whether it takes whole numbers only.
    """

    name: str
    default: float | None
    range: Range = _EVERYTHING
    whole: bool = False

    def check_array(self, value: Any, owner: str) -> float | ParameterValue:
        """``value`` as a parameter's value: a number, an array, or a variable, checked from now on too.

        Raises:
            ParameterError: not numbers, not finite, or outside :attr:`range`; with the first bad element.
        """
        if isinstance(value, Variable):
            value.require(f"{owner}: {self.name}", lambda array: self._check_elements(array, owner))
            return value
        if isinstance(value, numbers.Real):
            return self.check(value, owner)
        if is_learned(value):
            found = learned(value, self.default, f"{owner}: {self.name}")
            self._check_elements(found.array, owner)
            return found
        if not is_array(value):
            return self.check(value, owner)
        refuse_variable(value, f"{owner}: {self.name}")
        array = as_array(value, f"{owner}: {self.name}")
        self._check_elements(array, owner)
        if array.shape in ((), (1,)):  # a number, which costs nothing
            return self.check(float(array.item()), owner)
        return FixedArray(array + 0.0)

    def _check_elements(self, array: Any, owner: str) -> None:
        if self.whole and (array % 1).any():
            raise ParameterError(
                f"{owner}: {self.name} takes whole numbers, not {first_bad(array, array % 1 != 0)}."
            )
        bad = ~self.range.contains(array)
        if bad.any():
            raise ParameterError(f"{owner}: {self.name} must be {self.range}, not {first_bad(array, bad)}.")

    def check(self, value: object, owner: str) -> float:
        """``value`` as a float.

        Raises:
            ParameterError: not a number, not finite, or outside :attr:`range`.
        """
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise ParameterError(
                f"{owner}: {self.name} must be a number, not {value!r} ({type(value).__name__})."
            )
        number = as_float(value)
        wanted = self.range if math.isfinite(number) else _EVERYTHING
        if not math.isfinite(number) or number not in wanted:
            raise ParameterError(f"{owner}: {self.name} must be {wanted}, not {number:g}.")
        if self.whole and number % 1:
            raise ParameterError(f"{owner}: {self.name} takes whole numbers, not {number:g}.")
        return number + 0.0  # one identity for both zeros: -0.0 == 0.0, but their digests would differ


def as_float(value: Any) -> float:
    """``value`` as a float, infinite where it is too large for one."""
    try:
        return float(value)
    except OverflowError:  # integers and fractions have no largest
        return math.inf if value > 0 else -math.inf


def read_parameters(
    function: Callable[..., Any], owner: str, *, without: Container[str] = ()
) -> dict[str, Parameter]:
    """The keyword-only parameters of ``function``, in the order of its signature.

    ``without`` names the arguments that are no parameters: attributes of the op, given by each call.

    Raises:
        FormulaError: a default is not a number, or an annotation cannot be read.
        ParameterError: a default lies outside the range its annotation declares.
    """
    found: dict[str, Parameter] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is not parameter.KEYWORD_ONLY or name in without:
            continue
        span, whole = _accepted(function, parameter, owner)
        default = parameter.default
        if default is _REQUIRED:
            found[name] = Parameter(name, None, span, whole)
            continue
        if isinstance(default, bool) or not isinstance(default, numbers.Real):
            raise FormulaError(f"{owner}: the default of {name!r} must be a number, not {default!r}.")
        checked = Parameter(name, None, span, whole).check(default, owner)
        found[name] = Parameter(name, checked, span, whole)
    return found


def _accepted(function: Callable[..., Any], parameter: inspect.Parameter, owner: str) -> tuple[Range, bool]:
    """The range that an annotation says, and whether it is of whole numbers.

    Raises:
        FormulaError: the annotation cannot be read.
    """
    hint = parameter.annotation
    if hint is inspect.Parameter.empty:
        return _EVERYTHING, False
    if isinstance(hint, str):  # from __future__ import annotations
        inner = inspect.unwrap(function)
        try:
            hint = eval(hint, getattr(inner, "__globals__", {}), inspect.getclosurevars(inner).nonlocals)
        except Exception as error:
            raise FormulaError(
                f"{owner}: the annotation of {parameter.name!r}, {hint!r}, cannot be read ({error}), so no "
                "range would be checked. Import what it names where the formula is defined."
            ) from error
    extras = (hint, *getattr(hint, "__metadata__", ()))
    span = next((extra for extra in extras if isinstance(extra, Range)), _EVERYTHING)
    return span, hint is int or getattr(hint, "__origin__", None) is int


def bind(
    parameters: Mapping[str, Parameter], given: Mapping[str, object], owner: str, *, arrays: bool = False
) -> tuple[tuple[str, Any], ...]:
    """All parameters with their checked values, in the order of the signature.

    ``arrays``: they may also be arrays and variables.

    Raises:
        UnknownParameterError: a name the formula does not have.
        ParameterError: a value it does not accept, or a required one that is missing.
    """
    for name in given:
        if name not in parameters:
            raise UnknownParameterError(unknown("parameter", name, parameters, where=f" of {owner}"))
    bound: list[tuple[str, Any]] = []
    for name, parameter in parameters.items():
        if name in given:
            check = parameter.check_array if arrays else parameter.check
            bound.append((name, check(given[name], owner)))
        elif parameter.default is None:
            raise ParameterError(f"{owner}: {name} has no default; give it, as in {name}=1.0.")
        else:
            bound.append((name, parameter.default))
    return tuple(bound)
