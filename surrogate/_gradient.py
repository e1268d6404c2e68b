"""A gradient: a named surrogate for one op with its parameters, interned."""

from __future__ import annotations

import copy
import functools
import pickle
import threading
import warnings
import weakref
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from surrogate._bound import Bound
from surrogate._digest import digest
from surrogate._elementwise import ElementwiseRule
from surrogate._errors import SpecError
from surrogate._formula import Formula
from surrogate._learned import Learned
from surrogate._learned_rule import LearnedRule
from surrogate._op import Op
from surrogate._parameters import bind
from surrogate._rule import Rule
from surrogate._upstream import UpstreamRule
from surrogate._variable import FixedArray, ParameterValue
from surrogate._whole import BoundariesRule, OneHotRule

_interned: weakref.WeakValueDictionary[tuple[Any, ...], Gradient] = weakref.WeakValueDictionary()
_owners: weakref.WeakKeyDictionary[Rule, weakref.ref[Gradient]] = weakref.WeakKeyDictionary()
_lock = threading.RLock()  # reentrant: a formula, or collecting garbage, may run anything inside


class Gradient:
    """A surrogate gradient for one op: hashable, interned, picklable.

    Equal specs give the identical object while one is alive, so that a compiler that keys on it does not
    compile again; identity is equality. Made by :func:`surrogate.gradient`, and by what it shows,
    ``Gradient('sign:hardtanh(width=1.0)')``.

    Attributes:
        op: the op it is for.
        formula: the function it evaluates, with what is known of it.
        params: the parameters, read-only, in the order of the formula's signature: a number, an array or a
            :class:`surrogate.Variable` each.
        rule: ``save``, ``vjp`` and ``jvp``, what backends consume.
        digest: hex text over op, name, parameters and the formula's code; equal in every process.
    """

    __slots__ = ("__weakref__", "_bound", "_rules", "digest", "formula", "op", "params", "rule")

    op: Op
    formula: Formula
    params: Mapping[str, Any]
    rule: Rule
    digest: str
    _bound: dict[str, Any]
    _rules: dict[tuple[tuple[str, Any], ...], Rule]

    def __new__(cls, id: str | None = None) -> Gradient:  # noqa: A002
        """The gradient that shows itself so, as ``Gradient('sign:hardtanh(width=1.0)')``."""
        from surrogate._registry import gradient

        if id is None:
            raise TypeError("write surrogate.gradient(op, spec) to get a gradient")
        return gradient(id)

    @property
    def name(self) -> str:
        """The gradient's name without parameters: ``hardtanh``."""
        return self.formula.name or str(getattr(self.formula.function, "__name__", "function"))

    @property
    def spec(self) -> str:
        """The spec that gives this gradient back: ``hardtanh(width=1.0)``."""
        given = ", ".join(f"{name}={value!r}" for name, value in self._bound.items())
        return f"{self.name}({given})" if given else self.name

    @property
    def id(self) -> str:
        """How it is named everywhere: ``sign:hardtanh(width=1.0)``."""
        return f"{self.op.name}:{self.spec}"

    @property
    def upstream(self) -> bool:
        """Whether it depends on the upstream gradient; such a gradient has no forward mode."""
        return self.formula.upstream and not self.formula.symmetric

    @property
    def doc(self) -> str:
        """The formula's docstring."""
        return self.formula.doc

    def at(self, *decimals: int, **attributes: Any) -> Rule:
        """The rule for these attributes of the op: ``at(decimals=2)`` for ``round(x, 2)``.

        One rule object per value, so that compilers can key on it; :attr:`rule` where all are defaults.

        Args:
            decimals: the form of 0.1, ``at(2)``; deprecated.
            attributes: static arguments of the op.

        Raises:
            TypeError: the op has no such attribute, or it takes another kind of value.
        """
        if decimals:
            warnings.warn(
                f"write gradient.at(decimals={decimals[0]!r}): attributes are given by name.",
                DeprecationWarning,
                stacklevel=2,
            )
            if not decimals[0]:
                return self.rule
            attributes["decimals"] = decimals[0]
        static = self.op.static(attributes)
        if not static:
            return self.rule
        with _lock:
            if static not in self._rules:
                self._rules[static] = _rule(self, dict(static))
            return self._rules[static]

    def __repr__(self) -> str:
        return f"Gradient({self.id!r})"

    def __str__(self) -> str:
        return self.spec

    def _repr_html_(self) -> str:
        from surrogate._gradient_html import as_html  # only a notebook asks for it

        return as_html(self)

    def __rich_repr__(self) -> Any:
        yield self.id
        yield "upstream", self.upstream, False

    def __copy__(self) -> Gradient:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Gradient:
        if not self.rule.learned:
            return self
        return make(self.formula, copy.deepcopy(dict(self.params), memo))  # of the copied model's tensors

    def __reduce__(self) -> tuple[Callable[..., Gradient], tuple[Any, ...]]:
        from surrogate._registry import registry

        registered = self.formula.name is not None and registry.has(self.formula)
        what = self.formula.name if registered else self.formula.function
        if not registered and "<" in getattr(_innermost(what), "__qualname__", ""):
            raise pickle.PicklingError(
                f"{self.id} is made of {self.formula.origin}, which another process cannot find by name: "
                "define the function at the top level of a module, or register it there."
            )
        return _rebuild, (self.op.name, what, dict(self.params))


def _innermost(function: Any) -> Any:
    """What a derived formula is made of."""
    return getattr(function, "__wrapped__", function)


def make(formula: Formula, given: Mapping[str, object]) -> Gradient:
    """The one gradient of this formula and these parameters.

    Raises:
        UnknownParameterError, ParameterError: the parameters do not fit the formula.
        FormulaError: the formula fails on the probe.
    """
    params = bind(formula.parameters, given, formula.label, arrays=True)
    key = (formula.op.name, formula.name, formula.version, params)
    with _lock:
        found = _interned.get(key)
    if found is not None:
        return found
    gradient = object.__new__(Gradient)
    gradient.op, gradient.formula = formula.op, formula
    gradient._bound = dict(params)
    gradient.params = MappingProxyType({name: _public(value) for name, value in params})
    gradient.digest = digest(repr(key))
    gradient._rules = {}
    gradient.rule = _rule(gradient, {})  # evaluates the formula once: a wrong one is refused here
    with _lock:
        return _interned.setdefault(key, gradient)


def _rule(gradient: Gradient, attributes: Mapping[str, Any]) -> Rule:
    """The rule of a gradient, for these attributes of its op."""
    formula, params = gradient.formula, gradient._bound
    live = {name: value for name, value in params.items() if isinstance(value, ParameterValue)}
    params = {name: value for name, value in params.items() if name not in live}
    suffix = "".join(f".{name}={value!r}" for name, value in attributes.items())
    given = {name: attributes[name] for name in formula.reads if name in attributes}
    moved = bool(attributes) and gradient.op.at is not None
    bound = Bound(
        id=gradient.id,
        digest=gradient.digest + suffix,
        op=gradient.op,
        function=functools.partial(formula.function, **params, **given),
        takes=formula.takes,
        upstream=formula.upstream,
        attributes=MappingProxyType(dict(attributes)),
        interval=None if moved or live or formula.interval is None else formula.interval(**params),
        symmetric=formula.symmetric,
        live=MappingProxyType(live),
    )
    if any(isinstance(value, Learned) for value in live.values()):
        rule = _learned_rule(bound, formula, params)
    else:
        rule = _kind_of(bound)(bound)
    _owners[rule] = weakref.ref(gradient)
    return rule


def _learned_rule(bound: Bound, formula: Formula, fixed: Mapping[str, Any]) -> Rule:
    by = {} if _kind_of(bound) is not ElementwiseRule else formula.by
    return LearnedRule(bound, by, fixed)


def _kind_of(bound: Bound) -> Callable[[Bound], Rule]:
    if bound.op.boundaries:
        return BoundariesRule
    if bound.op.one_hot:
        return OneHotRule
    return UpstreamRule if bound.upstream else ElementwiseRule


def owner(rule: Rule) -> Gradient:
    """The gradient that a rule was made of, for ``rule.gradient`` of 0.1."""
    found = _owners[rule]() if rule in _owners else None
    if found is None:
        raise AttributeError(f"{rule!r} was not made of a gradient: it has no attribute 'gradient'.")
    return found


def _public(value: Any) -> Any:
    """A parameter as a user sees it: a number, a NumPy array, a variable."""
    return (
        value.array
        if isinstance(value, FixedArray)
        else (value.tensor if isinstance(value, Learned) else value)
    )


def _rebuild(op: str, what: object, params: dict[str, Any]) -> Gradient:
    """Unpickle: the registered formula by name, any other by its function."""
    from surrogate._registry import registry

    if isinstance(what, str):
        return make(registry.formula(op, what), params)
    if not callable(what):
        raise SpecError(f"cannot rebuild a gradient for {op!r} from {what!r}.")
    return make(registry.anonymous(op, what), params)
