"""One captured call: the rule it obeys and how its value is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import jax
import jax.numpy as jnp

import surrogate
from surrogate_jax._keys import Place
from surrogate_jax._scope import suspended

_MODULES = {"jnp": jnp, "lax": jax.lax, "nn": jax.nn}


class Value(Protocol):
    """How a value is computed from operands. Hashable; ``function`` names it."""

    @property
    def function(self) -> str: ...

    def __call__(self, *operands: Any) -> Any: ...

    def __hash__(self) -> int: ...


@dataclass(frozen=True)
class Native:
    """JAX's own function for an op, by name: evaluated again for whatever shapes ``vmap`` makes.

    Attributes:
        module: ``"jnp"``, ``"lax"`` or ``"nn"``.
        function: its name there.
        names: keywords of the trailing operands; those before are positional.
        static: arguments that are no arrays.
        output: which of several results is meant.
    """

    module: str
    function: str
    names: tuple[str, ...] = ()
    static: tuple[tuple[str, Any], ...] = ()
    output: int | None = None

    def __call__(self, *operands: Any) -> Any:
        """The native value, with every override suspended."""
        with suspended(*operands):
            given = _even(operands) if self.module == "lax" else operands
            split = len(given) - len(self.names)
            named = dict(zip(self.names, given[split:], strict=True))
            function = getattr(_MODULES[self.module], self.function)
            found = function(*given[:split], **named, **dict(self.static))
            return found if self.output is None else found[self.output]

    def __repr__(self) -> str:
        return f"{self.module}.{self.function}"


@dataclass(frozen=True)
class Call:
    """What the captured primitive carries. Hashable: a part of jaxprs that JAX compares.

    Attributes:
        rule: the rule in force when the op was traced.
        native: how the value is computed.
        numbers: for each input of the rule the number that stands for it, or None: the next operand.
        learned: how many operands, the last ones, are parameters of the rule that the value ignores.
        place: where it was captured; no part of what makes two calls equal.
    """

    rule: surrogate.Rule
    native: Value
    numbers: tuple[float | None, ...]
    learned: int = 0
    place: Place | None = field(default=None, compare=False)

    def inputs(self, operands: Sequence[Any]) -> list[Any]:
        """The rule's inputs: operands and numbers."""
        rest = iter(operands)
        return [next(rest) if number is None else number for number in self.numbers]

    def needs(self, wanted: Sequence[bool]) -> tuple[bool, ...]:
        """Which of the rule's inputs want a derivative, from which operands do."""
        rest = iter(wanted)
        return tuple(number is None and next(rest) for number in self.numbers)

    def __repr__(self) -> str:
        return f"{self.native!r} as {self.rule.id}"


def _even(operands: Sequence[Any]) -> Sequence[Any]:
    """Operands of one shape, as ``lax`` wants them; numbers without a shape may stay."""
    shape = jnp.broadcast_shapes(*(jnp.shape(x) for x in operands))
    return [x if jnp.shape(x) in ((), shape) else jnp.broadcast_to(x, shape) for x in operands]
