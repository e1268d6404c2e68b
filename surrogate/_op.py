"""An op: an operation by its NumPy name, with the inputs that may carry a gradient."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from surrogate._errors import SpecError

#: ``tail(xp, *inputs)``: the partial derivatives by each input, for those a formula leaves out.
Tail = Callable[..., tuple[Any, ...]]


@dataclass(frozen=True)
class Op:
    """An operation that gradients can be registered for.

    Attributes:
        name: the NumPy name, the same in every framework.
        inputs: names of the inputs that may carry a gradient, in order.
        forward: NumPy evaluation, ``forward(*inputs, **attributes)``.
        default: name of the gradient that ``use(backend)`` installs; None leaves the op native.
        attributes: names of the static keyword arguments of ``forward`` (``decimals``).
        tail: partial derivatives for the inputs that a formula does not take.
            Without it they are 0.
        doc: one sentence.
    """

    name: str
    inputs: tuple[str, ...]
    forward: Callable[..., Any] = field(repr=False, compare=False)
    default: str | None = None
    attributes: tuple[str, ...] = ()
    tail: Tail | None = field(default=None, repr=False, compare=False)
    doc: str = field(default="", repr=False, compare=False)

    def __post_init__(self) -> None:
        if not (isinstance(self.name, str) and self.name.isidentifier()):
            raise SpecError(f"an op is named like 'sign' or 'floor_divide', not {self.name!r}.")
        named = isinstance(self.inputs, tuple) and all(isinstance(name, str) for name in self.inputs)
        if not named or not self.inputs:
            raise SpecError(f"the inputs of {self.name} are a tuple of names, ('x',), not {self.inputs!r}.")
        if not callable(self.forward):
            raise SpecError(f"{self.name} needs a forward over NumPy arrays, not {self.forward!r}.")

    @property
    def arity(self) -> int:
        """Number of inputs that may carry a gradient."""
        return len(self.inputs)

    def __rich_repr__(self) -> Any:
        yield self.name
        yield "inputs", self.inputs
        yield "default", self.default, None
