"""Formulas for what is no op of the catalogue: a framework's own op by its native name, or a function."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from surrogate._digest import digest
from surrogate._errors import DuplicateNameError, FormulaError, ForwardModeError, SpecError
from surrogate._fingerprint import fingerprint
from surrogate._formula import process_unique
from surrogate._parameters import Parameter, bind, read_parameters
from surrogate._spec import NATIVE, parse

Array = Any
F = TypeVar("F", bound=Callable[..., Any])

_lock = threading.RLock()
#: (backend or None for any, native name or function path) -> formulas by name.
_formulas: dict[tuple[str | None, str], dict[str, NativeFormula]] = {}


class Values(Sequence[Any]):
    """Inputs or outputs of a call, by position and by name."""

    __slots__ = ("_items", "names")

    def __init__(self, items: Sequence[Any], names: Sequence[str] = ()) -> None:
        self._items = tuple(items)
        self.names = tuple(names)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self.names:
                raise KeyError(f"no {key!r} here; there are: {', '.join(self.names) or 'no names'}")
            return self._items[self.names.index(key)]
        return self._items[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"Values({', '.join(self.names) or len(self._items)})"


class NativeCall:
    """One call of an op or function that a formula is asked about.

    Attributes:
        inputs: its arguments that are arrays, the framework's own, by position and name.
        outputs: its results, by position and name.
        attributes: everything else that it was given, by name.
        wanted: for each input whether a cotangent of it goes anywhere. One of an integer or a boolean, a
            float, goes to where a rule for a cast, a comparison or an argmax says that the input came from.
    """

    __slots__ = ("_native", "_native_jvp", "_transposed", "attributes", "inputs", "outputs", "wanted")

    def __init__(
        self,
        inputs: Values,
        outputs: Values,
        attributes: Mapping[str, Any],
        native: Callable[..., Any],
        native_jvp: Callable[..., Any] | None = None,
        transposed: Callable[..., Any] | None = None,
        wanted: Sequence[bool] | None = None,
    ) -> None:
        self.wanted = (True,) * len(inputs) if wanted is None else tuple(wanted)
        self.inputs = inputs
        self.outputs = outputs
        self.attributes = attributes
        self._native = native
        self._native_jvp = native_jvp
        self._transposed = transposed

    def native(self, g: Any) -> Any:
        """The framework's own cotangents for the upstream gradient ``g``: what the formula is to replace.

        One per input, None for one without a derivative; the array itself where there is one input.
        """
        return self._native(g)

    def native_jvp(self, tangents: Any) -> Any:
        """The framework's own tangent of the output, for a formula's ``jvp``."""
        if self._native_jvp is None:
            raise ForwardModeError(
                "this op's own forward mode cannot be asked for here; write jvp without it."
            )
        return self._native_jvp(tangents)

    def transposed(self, pull: Callable[[Any], Sequence[Any]], tangents: Sequence[Any]) -> Any:
        """The tangent of the output, from cotangents ``pull(g)`` that are linear in ``g``."""
        if self._transposed is None:
            raise ForwardModeError("forward mode cannot be made of the formula here; register it with jvp=.")
        return self._transposed(pull, tangents)


#: For ``jvp=``: the formula is linear in the upstream gradient, and forward mode is its transpose.
TRANSPOSED = "transposed"
Forward = Callable[..., Any] | str | None


@dataclass(frozen=True, eq=False)
class NativeFormula:
    """A formula ``function(call, g, **parameters)`` as it was registered.

    Attributes:
        backend: the backend's name; None for a function of any framework.
        key: the native name or function path it is for.
        name: the formula's name.
        function: gives one cotangent per input, or None for one that gets none.
        jvp: ``jvp(call, tangents, **parameters)`` gives the output's tangent; ``"transposed"``: the formula
            is linear in the upstream gradient, and the tangent is made of it; None: no forward mode.
        registered: whether it can be found by its name.
    """

    backend: str | None
    key: str
    name: str
    function: Callable[..., Any]
    jvp: Forward
    registered: bool
    parameters: dict[str, Parameter] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """``aten::max_pool2d_with_indices:spread``, for messages."""
        return f"{self.key}:{self.name}"

    @cached_property
    def version(self) -> str:
        """A digest of the code, unique to the process where its behaviour cannot be read off it."""
        parts = [one for one in (self.function, self.jvp) if callable(one)]
        texts = [fingerprint(one) if self.registered else None for one in parts]
        known = [text or process_unique(one) for text, one in zip(texts, parts, strict=True)]
        return digest(repr([*known, self.jvp] if self.jvp == TRANSPOSED else known))

    def bind(self, given: Mapping[str, object]) -> tuple[tuple[str, float], ...]:
        """The parameters with their values.

        Raises:
            UnknownParameterError, ParameterError: they do not fit the signature.
        """
        return bind(self.parameters, given, self.label)

    def cotangents(self, call: NativeCall, g: Any, params: Mapping[str, float]) -> tuple[Any, ...]:
        """One cotangent per input of the call.

        Raises:
            FormulaError: the formula gives another number of them.
        """
        found = self.function(call, g, **params)
        found = tuple(found) if isinstance(found, tuple | list) else (found,)
        if len(found) > len(call.inputs):
            raise FormulaError(
                f"{self.label} returns {len(found)} cotangents for {len(call.inputs)} inputs "
                f"({', '.join(call.inputs.names)}): one per input, None for one that gets none."
            )
        return found + (None,) * (len(call.inputs) - len(found))

    def tangent(self, call: NativeCall, tangents: Any, params: Mapping[str, float]) -> Any:
        """The output's tangent.

        Raises:
            ForwardModeError: the formula was registered without ``jvp``.
        """
        if callable(self.jvp):
            return self.jvp(call, tangents, **params)
        if self.jvp == TRANSPOSED:
            return call.transposed(lambda g: self.cotangents(call, g, params), tangents)
        raise ForwardModeError(
            f"{self.label} has no forward mode: register it with jvp=, a function def name(call, tangents) "
            "or 'transposed' for a formula that is linear in g, or use reverse mode (grad, vjp)."
        )

    def check(
        self, cotangent: Any, what: str, shape: Any, wanted_shape: Any, dtype: Any, wanted: Any
    ) -> None:
        """Refuse a cotangent of another shape or dtype than its input.

        Raises:
            FormulaError: names the formula, the input and both shapes or dtypes.
        """
        if tuple(shape) != tuple(wanted_shape):
            raise FormulaError(
                f"{self.label} gives {what} a cotangent of shape {tuple(shape)}; "
                f"it must have the shape of {what}, {tuple(wanted_shape)}."
            )
        if dtype != wanted:
            raise FormulaError(
                f"{self.label} gives {what} a cotangent of dtype {dtype}; it must be {wanted}, as {what} is."
            )


def read_native(
    backend: str | None, key: str, function: Any, *, name: str | None, jvp: Forward, registered: bool = False
) -> NativeFormula:
    """Check the form of a formula ``def name(call, g, *, parameters)``.

    Raises:
        FormulaError: it does not take ``call`` and ``g``, or ``jvp`` not ``call`` and ``tangents``.
    """
    name = name or str(getattr(function, "__name__", "formula"))
    label = f"{key}:{name}"
    for one, form in ((function, f"def {name}(call, g, *, parameters)"), (jvp, "def jvp(call, tangents)")):
        if one is None or (one is jvp and jvp == TRANSPOSED):
            continue
        if not callable(one):
            raise FormulaError(f"{label}: {one!r} is no function; write {form}.")
        try:
            kinds = [parameter.kind for parameter in inspect.signature(one).parameters.values()]
        except (TypeError, ValueError) as error:
            raise FormulaError(f"{label}: the signature cannot be read; write {form}.") from error
        positional = [kind for kind in kinds if kind is not inspect.Parameter.KEYWORD_ONLY]
        if len(positional) != 2 or inspect.Parameter.VAR_KEYWORD in kinds:
            raise FormulaError(f"{label} must take two arguments and keyword-only parameters: write {form}.")
    return NativeFormula(backend, key, name, function, jvp, registered, read_parameters(function, label))


def scaled(call: NativeCall, g: Any, *, factor: float) -> Any:
    """The framework's own cotangents, times a factor."""
    found = call.native(g)
    if isinstance(found, tuple | list):
        return tuple(None if one is None else one * factor for one in found)
    return None if found is None else found * factor


def reversal(call: NativeCall, g: Any, *, factor: float = 1.0) -> Any:
    """The framework's own cotangents with the other sign (Ganin et al. 2016, arXiv 1505.07818)."""
    return scaled(call, g, factor=-factor)


#: What comes along with backends, and gives way to what is registered under the same name.
_packs: dict[tuple[str | None, str], dict[str, NativeFormula]] = {}
#: backend -> formulas that every native op of it has, by name.
_generic: dict[str, dict[str, Callable[..., Any]]] = {}
GENERIC: dict[str, Callable[..., Any]] = {"scaled": scaled, "reversal": reversal}


def generic(backend: str | None) -> Mapping[str, Callable[..., Any]]:
    """The formulas that every native op of a backend has; none for functions."""
    return {} if backend is None else {**GENERIC, **_generic.get(backend, {})}


def add_generic(backend: str, functions: Mapping[str, Callable[..., Any]]) -> None:
    """Give every native op of a backend these formulas."""
    with _lock:
        _generic.setdefault(backend, {}).update(functions)


def add_shipped(formula: NativeFormula) -> None:
    """Make a formula known that comes with a backend."""
    with _lock:
        _packs.setdefault((formula.backend, formula.key), {})[formula.name] = formula


def find_formula(backend: str | None, key: str, name: str) -> NativeFormula | None:
    """The registered formula of this name, or one that every native op has."""
    found = next((known[name] for known in _known(backend, key) if name in known), None)
    if found is None and (function := generic(backend).get(name)):
        jvp = TRANSPOSED if name in GENERIC else None
        return read_native(backend, key, function, name=name, jvp=jvp, registered=True)
    return found


def formulas(backend: str | None, key: str) -> list[str]:
    """Names of the formulas that are registered for a native op or function."""
    return sorted({name for known in (*_known(backend, key), generic(backend)) for name in known})


def _known(backend: str | None, key: str) -> list[dict[str, NativeFormula]]:
    """The formulas for a key, those that win first."""
    return [table.get((owner, key), {}) for table in (_formulas, _packs) for owner in (backend, None)]


def shipped(backend: str) -> dict[str, list[str]]:
    """The names of the formulas that come with a backend, by native name."""
    return {key: sorted(named) for (owner, key), named in _packs.items() if owner == backend}


def add(formula: NativeFormula, *, replace: bool = False) -> None:
    """Make a formula known.

    Raises:
        DuplicateNameError: another one has its name.
    """
    with _lock:
        known = _formulas.setdefault((formula.backend, formula.key), {})
        other = known.get(formula.name)
        same = other is not None and (
            other.version == formula.version
            or (other.function.__module__, other.function.__qualname__)
            == (formula.function.__module__, formula.function.__qualname__)
        )
        if other is not None and not same and not replace:
            raise DuplicateNameError(
                f"{formula.label} is already registered by {other.function.__module__}."
                f"{other.function.__qualname__}. Choose another name, or pass replace=True."
            )
        known[formula.name] = formula


def check_name(name: object, label: str) -> None:
    """Refuse a name that cannot stand in a spec.

    Raises:
        SpecError: it cannot.
    """
    try:
        usable = isinstance(name, str) and name != NATIVE and parse(name) == (name, {})
    except SpecError:
        usable = False
    if not usable:
        raise SpecError(
            f"{name!r} cannot be a formula's name for {label}; give another, as in name='spread'."
        )
