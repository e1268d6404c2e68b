"""An op: an operation by its NumPy name, with the inputs that may carry a gradient."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

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

    @property
    def arity(self) -> int:
        """Number of inputs that may carry a gradient."""
        return len(self.inputs)

    def __rich_repr__(self) -> Any:
        yield self.name
        yield "inputs", self.inputs
        yield "default", self.default, None
