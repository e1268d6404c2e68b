"""An op: an operation by its NumPy name, and all that anybody has to know of it."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

from surrogate._derived import How
from surrogate._errors import SpecError
from surrogate._samples import Samples

#: ``partials(xp, *inputs)``: the partial derivatives by each input, for those that a formula leaves out.
Partials = Callable[..., tuple[Any, ...]]

Output = Literal["float", "bool", "integer"]


@dataclass(frozen=True)
class Op:
    """An operation that gradients can be registered for.

    Attributes:
        name: the NumPy name, the same in every framework.
        inputs: names of the inputs that may carry a gradient, in order.
        forward: NumPy evaluation, ``forward(*inputs, **attributes)``.
        default: name of the gradient that ``use(backend)`` installs; None leaves the op native.
        attributes: names of the static keyword arguments of ``forward`` (``decimals``, ``axis``). A formula
            that names one among its keyword-only arguments is given its value.
        partials: ``partials(xp, *inputs)``: the partial derivative by each input, used for the inputs that a
            formula does not take. Without it they are 0.
        doc: one sentence.
        reads: names of the inputs that ``partials`` reads; the others are given as None, and need not be
            kept for the backward. None: it reads all.
        at: ``at(*inputs, **attributes)``: the points at which a formula is evaluated when attributes differ
            from their defaults (``x * 10**decimals``). Without it, the inputs themselves.
        output: what the op gives. For ``"bool"`` and ``"integer"`` a gradient is the derivative of the value
            cast to a float.
        elementwise: whether each element of the output depends on one element of each input only.
        one_hot: whether its rule is over the one-hot vector of an index along the attribute ``axis``: ``g``
            and cotangents then have the shape of the input.
        boundaries: whether its last input is a sorted row of boundaries, each a step for every x.
        inherits: ``(op, how)``: it has the gradients of that op too, each made by
            ``how(formula, xp, arguments, parameters)``.
        of_one: how a formula of fewer inputs than the op has is made one of all, where a user gives it.
        samples: values of its inputs, for the conformance kit, plots and tests.
        tail: the name that ``partials`` had in 0.1.
    """

    name: str
    inputs: tuple[str, ...]
    forward: Callable[..., Any] = field(repr=False, compare=False)
    default: str | None = None
    attributes: tuple[str, ...] = ()
    partials: Partials | None = field(default=None, repr=False, compare=False)
    doc: str = field(default="", repr=False, compare=False)
    reads: tuple[str, ...] | None = field(default=None, repr=False, compare=False, kw_only=True)
    at: Callable[..., Any] | None = field(default=None, repr=False, compare=False, kw_only=True)
    output: Output = field(default="float", kw_only=True)
    elementwise: bool = field(default=True, kw_only=True)
    one_hot: bool = field(default=False, kw_only=True)
    boundaries: bool = field(default=False, kw_only=True)
    inherits: tuple[tuple[str, How], ...] = field(default=(), repr=False, compare=False, kw_only=True)
    of_one: How | None = field(default=None, repr=False, compare=False, kw_only=True)
    samples: Samples = field(default=Samples(), repr=False, compare=False, kw_only=True)
    tail: Partials | None = field(default=None, repr=False, compare=False, kw_only=True)

    def __post_init__(self) -> None:
        if not (isinstance(self.name, str) and self.name.isidentifier()):
            raise SpecError(f"an op is named like 'sign' or 'floor_divide', not {self.name!r}.")
        named = isinstance(self.inputs, tuple) and all(isinstance(name, str) for name in self.inputs)
        if not named or not self.inputs:
            raise SpecError(f"the inputs of {self.name} are a tuple of names, ('x',), not {self.inputs!r}.")
        if not callable(self.forward):
            raise SpecError(f"{self.name} needs a forward over NumPy arrays, not {self.forward!r}.")
        if self.output not in ("float", "bool", "integer"):
            raise SpecError(
                f"the output of {self.name} is 'float', 'bool' or 'integer', not {self.output!r}."
            )
        unknown = [name for name in self.reads or () if name not in self.inputs]
        if unknown:
            raise SpecError(f"{self.name} reads {unknown}, which are not among its inputs {self.inputs}.")
        if self.tail is not None and self.partials is None:
            object.__setattr__(self, "partials", self.tail)
        self.samples.check(self.name, self.arity)

    @property
    def arity(self) -> int:
        """Number of inputs that may carry a gradient."""
        return len(self.inputs)

    @property
    def held(self) -> tuple[Any, ...]:
        """What the inputs after the first are held at where the op is drawn or measured along its first."""
        return self.samples.rest(self.arity)

    @cached_property
    def read_by_partials(self) -> frozenset[int]:
        """Positions of the inputs that :attr:`partials` reads."""
        if self.partials is None:
            return frozenset()
        return frozenset(i for i, name in enumerate(self.inputs) if self.reads is None or name in self.reads)

    @cached_property
    def defaults(self) -> Mapping[str, Any]:
        """The default of each attribute whose default ``forward`` shows in its signature."""
        try:
            parameters = inspect.signature(self.forward).parameters
        except (TypeError, ValueError):
            return MappingProxyType({})
        shown = {name: parameters[name].default for name in self.attributes if name in parameters}
        return MappingProxyType({k: v for k, v in shown.items() if v is not inspect.Parameter.empty})

    def static(self, attributes: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
        """The attributes that differ from their defaults, sorted by name, as plain Python values.

        Raises:
            TypeError: the op has no such attribute, or it takes another kind of value.
        """
        return tuple(
            (name, value)
            for name in sorted(attributes)
            if (value := self._plain(name, attributes[name]))
            != self.defaults.get(name, inspect.Parameter.empty)
        )

    def _plain(self, name: str, value: Any) -> Any:
        if name not in self.attributes:
            known = ", ".join(self.attributes) or "none"
            raise TypeError(f"{self.name} has no attribute {name!r}; it has: {known}.")
        if isinstance(value, bool | str | None) and type(self.defaults.get(name)) is not int:
            return value
        if isinstance(value, tuple):
            return tuple(operator.index(item) for item in value)
        if type(self.defaults.get(name)) is float:
            return float(value)
        return operator.index(value)  # an integer, also NumPy's, or a TypeError that says so

    def __rich_repr__(self) -> Any:
        yield self.name
        yield "inputs", self.inputs
        yield "default", self.default, None
