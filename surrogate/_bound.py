"""A formula with its parameters and the op's attributes given: what a rule is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from surrogate._op import Op
from surrogate._variable import ParameterValue

Array = Any
_NOTHING: Mapping[str, Array] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class Bound:
    """A formula, ready to be evaluated.

    Attributes:
        id: how the gradient is named everywhere: ``sign:hardtanh(width=1.0)``.
        digest: hex text that is equal in every process for the same gradient and attributes.
        op: the op it is for.
        function: ``function(xp, *points)``, or ``function(xp, g, *points)`` if :attr:`upstream`.
        takes: how many of the op's inputs it takes, the first ones.
        upstream: whether it takes the upstream gradient and gives cotangents.
        attributes: the op's static arguments that differ from their defaults.
        interval: the bounds of the interval that it says to be, of an op of one input.
        symmetric: whether a formula of the upstream gradient applies a symmetric matrix to it.
        live: the parameters that are arrays or variables; their values are given by name.
    """

    id: str
    digest: str
    op: Op
    function: Callable[..., Any]
    takes: int
    upstream: bool
    attributes: Mapping[str, Any]
    interval: tuple[float, float] | None = None
    symmetric: bool = False
    live: Mapping[str, ParameterValue] = field(default_factory=dict)

    def of_one_input(self) -> Bound:
        """The same formula, as if of an op of one input."""
        return replace(self, op=Op(self.op.name, self.op.inputs[:1], self.op.forward), attributes={})

    def points(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """Where the formula is evaluated: ``round(x, d)`` steps as ``round`` does at ``x * 10**d``."""
        if not self.attributes or self.op.at is None:
            return inputs[: self.takes]
        found = self.op.at(*inputs, **self.attributes)
        return (found if type(found) is tuple else (found,))[: self.takes]

    def evaluate(
        self, xp: Any, inputs: Sequence[Array], values: Mapping[str, Array] = _NOTHING
    ) -> tuple[Any, ...]:
        """What the formula returns, as a tuple."""
        result = self.function(xp, *self.points(inputs), **values)
        return result if type(result) is tuple else (result,)

    def cotangents(
        self, xp: Any, g: Array, inputs: Sequence[Array], values: Mapping[str, Array] = _NOTHING
    ) -> tuple[Any, ...]:
        """What a formula of the upstream gradient returns, as a tuple."""
        result = self.function(xp, g, *self.points(inputs), **values)
        return result if type(result) is tuple else (result,)
