"""Values of an op's inputs: for the conformance kit, for plots and measures, for tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from surrogate._errors import SpecError

#: For further inputs of which nothing is said.
_OTHERWISE = (3.0, 5.0, 7.0, 9.0, 11.0)
# short binary fractions, so that sums of them are exact
_ROW = (3.0, -0.25, 0.5, -3.0, 0.5, 3.0)


@dataclass(frozen=True)
class Samples:
    """Where an op is looked at.

    Attributes:
        held: what the inputs after the first are held at where the op is drawn or measured along its first:
            a number each, or a tuple of numbers for an input that is a row.
        operands: rows of values of the inputs after the first; the kit takes each with every first input.
        shaped: for each input after the first six values, no tie with (-1.75, 0.25, 0.75, -0.625, 2.25,
            1.125), of which the kit makes arrays of several shapes.
        corners: values of the first input where the op jumps or bends, apart from 0 and the half-integers.
        reach: it is drawn from -reach to reach.
    """

    held: tuple[Any, ...] = ()
    operands: tuple[tuple[float, ...], ...] = ()
    shaped: tuple[tuple[float, ...], ...] = ()
    corners: tuple[float, ...] = ()
    reach: float = 3.25

    def check(self, name: str, arity: int) -> None:
        """Check that there is one value for each input after the first, where any are given.

        Raises:
            SpecError: there are more or fewer.
        """
        for field, rows in (("held", (self.held,)), ("operands", self.operands), ("shaped", (self.shaped,))):
            if any(row and len(row) != arity - 1 for row in rows):
                raise SpecError(f"{name} has {arity} input(s): samples.{field} gives values for {arity - 1}.")

    def rest(self, arity: int) -> tuple[Any, ...]:
        """:attr:`held`, or the first of :attr:`operands`, or any numbers: one per input after the first."""
        return self.held or self.rows(arity)[0]

    def rows(self, arity: int) -> tuple[tuple[float, ...], ...]:
        """:attr:`operands`, or one row of any numbers."""
        return self.operands or (_OTHERWISE[: arity - 1],)

    def columns(self, arity: int) -> tuple[tuple[float, ...], ...]:
        """:attr:`shaped`, or any six numbers for each."""
        return self.shaped or tuple((_ROW, _ROW[::-1])[i % 2] for i in range(arity - 1))
