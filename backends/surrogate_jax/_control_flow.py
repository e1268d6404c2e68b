"""Variables in branches, loops and checkpoints are read where these are traced, not where differentiated.

JAX has no references among the constants of such a function that is differentiated after it was traced. So
the value is one more operand of the captured op, which the op's own value ignores.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

import surrogate
from surrogate_jax import _namespace
from surrogate_jax._hooks import PRIVATE
from surrogate_jax._parameter import parameter

_FILES = (f"{PRIVATE}lax{os.sep}control_flow{os.sep}", f"{PRIVATE}ad_checkpoint.py")


def in_control_flow(frame: FrameType | None) -> bool:
    """Whether a function that control flow runs is being traced around this frame."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(_FILES):
            return True
        frame = frame.f_back
    return False


class _Given:
    """The namespace of formulas, where variables have these values."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def __getattr__(self, name: str) -> Any:
        return getattr(_namespace, name)

    def parameter(self, value: surrogate.ParameterValue, like: Any) -> Any:
        found = self._values.get(value.handle)
        return parameter(value, like) if found is None else found


class ReadBefore(surrogate.Rule):
    """A rule whose variables' values are inputs, after those of the op."""

    __slots__ = ("_handles", "_read", "_rule")

    def __init__(self, rule: surrogate.Rule) -> None:
        self._rule, self._read = rule, tuple(rule.variables)
        self._handles = tuple(value.handle for value in self._read)
        self.id, self.digest, self.attributes = rule.id, rule.digest, rule.attributes
        self.arity, self.elementwise, self.forward_mode = (
            rule.arity + len(self._read),
            False,
            rule.forward_mode,
        )
        self.interval = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReadBefore) and self._rule is other._rule

    def __hash__(self) -> int:
        return hash(self._rule)

    def read(self, operands: Sequence[Any]) -> list[Any]:
        """The values now, for an op of these."""
        like = jax.ShapeDtypeStruct((), jnp.result_type(*operands))
        return [lax.stop_gradient(parameter(value, like)) for value in self._read]

    def kept(self, needs: Any = None) -> Any:
        return self._rule.kept(self._own(needs))

    def selects(self, needs: Any = None) -> bool:
        return self._rule.selects(self._own(needs))

    @property
    def shaped(self) -> bool:
        return self._rule.shaped

    def check(self, inputs: Sequence[Any]) -> None:
        self._rule.check(self._own(inputs))

    def save(self, xp: Any, inputs: Sequence[Any], needs: Any = None) -> tuple[Any, ...]:
        values = dict(zip(self._handles, inputs[self._rule.arity :], strict=True))
        return self._rule.save(_Given(values), self._own(inputs), self._own(needs))

    def vjp(self, xp: Any, saved: Sequence[Any], g: Any, needs: Any = None) -> tuple[Any, ...]:
        found = self._rule.vjp(xp, saved, g, self._own(needs))
        return (*found, *[None] * len(self._read))

    def jvp(self, xp: Any, saved: Sequence[Any], tangents: Sequence[Any], needs: Any = None) -> Any:
        return self._rule.jvp(xp, saved, self._own(tangents), self._own(needs))

    def _own(self, of_inputs: Any) -> Any:
        return None if of_inputs is None else of_inputs[: self._rule.arity]
