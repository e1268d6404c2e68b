"""The parameters of a formula that are arrays or variables, where a rule evaluates it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from surrogate._errors import ParameterError
from surrogate._variable import ParameterValue

Array = Any
Values = dict[str, Array]


def _fits(shape: tuple[int, ...], full: Any) -> bool:
    """Whether a shape broadcasts to a known one."""
    try:
        return len(shape) <= len(full) and all(
            size in (1, other) for size, other in zip(shape[::-1], full[::-1], strict=False)
        )
    except (TypeError, ValueError):
        return False  # a size that is not known yet


class Live:
    """What a rule asks the backend's namespace for: ``xp.parameter(value, like)``.

    A variable's value is read in the forward pass and kept for the backward; an array is a constant, and
    asked for again.

    Args:
        owner: the gradient's name, for messages.
        values: the parameters by name.
    """

    __slots__ = ("_owner", "_values", "changing")

    def __init__(self, owner: str, values: Mapping[str, ParameterValue]) -> None:
        self._owner = owner
        self._values = dict(values)
        self.changing = tuple(name for name, value in values.items() if value.changes)

    def __bool__(self) -> bool:
        return bool(self._values)

    @property
    def variables(self) -> tuple[ParameterValue, ...]:
        """Those that change."""
        return tuple(self._values[name] for name in self.changing)

    @property
    def shaped(self) -> bool:
        """Whether one has a shape, so that inputs may not be cut or flattened."""
        return any(value.shape for value in self._values.values())

    def read(self, xp: Any, inputs: Sequence[Array]) -> Values:
        """All of them now, as arrays of the backend.

        Raises:
            ParameterError: one has a shape that does not broadcast against the inputs.
        """
        if not self._values:
            return {}
        like = self.check(inputs)
        return {name: xp.parameter(value, like) for name, value in self._values.items()}

    def check(self, inputs: Sequence[Array]) -> Array:
        """The first input that is an array.

        Raises:
            ParameterError: a parameter has a shape that does not broadcast against the inputs.
        """
        arrays = [x for x in inputs if hasattr(x, "dtype")]
        for name, value in self._values.items():
            if value.shape and not _fits(value.shape, arrays[0].shape):  # else on every small op's way
                self._check(name, value.shape, [x.shape for x in arrays])
        return arrays[0]

    def kept(self, xp: Any, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """What is kept for the backward: the values that may be others then.

        Raises:
            ParameterError: a parameter has a shape that does not broadcast against the inputs.
        """
        if not self._values:
            return ()
        like = self.check(inputs)
        return tuple([xp.parameter(self._values[name], like) for name in self.changing])

    def again(self, xp: Any, kept: Sequence[Array], like: Array) -> Values:
        """All of them as the forward pass saw them."""
        if not self._values:
            return {}
        saw = dict(zip(self.changing, kept, strict=True))
        return {
            name: saw[name] if name in saw else xp.parameter(value, like)
            for name, value in self._values.items()
        }

    def samples(self) -> Values:
        """A number for each, for a look at what a formula returns."""
        return {name: np.array(value.array.ravel()[0]) for name, value in self._values.items()}

    def whole(self) -> tuple[Values, tuple[int, ...]]:
        """The arrays themselves, and the shape they broadcast to.

        Raises:
            ParameterError: they do not broadcast together.
        """
        values = {name: value.array for name, value in self._values.items()}
        try:
            return dict(values), np.broadcast_shapes(*(array.shape for array in values.values()))
        except ValueError as error:
            shapes = ", ".join(f"{name} {array.shape}" for name, array in values.items())
            raise ParameterError(f"{self._owner}: parameters do not broadcast together: {shapes}.") from error

    def _check(self, name: str, shape: tuple[int, ...], inputs: Sequence[Any]) -> None:
        try:
            full = np.broadcast_shapes(*(tuple(map(int, found)) for found in inputs))
        except (TypeError, ValueError):
            return  # a size that is not known yet, or shapes that the op itself refuses
        try:
            fits = np.broadcast_shapes(full, shape) == full
        except ValueError:
            fits = False
        if not fits:
            raise ParameterError(
                f"{self._owner}: {name} of shape {shape} does not broadcast to the input's shape {full}."
            )
