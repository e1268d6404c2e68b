"""What a backend receives for one op: ``save``, ``vjp`` and ``jvp``."""

from __future__ import annotations

import abc
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from surrogate._partial import Kind

if TYPE_CHECKING:
    from surrogate._gradient import Gradient
    from surrogate._learned import Learned
    from surrogate._variable import ParameterValue

Array = Any
Needs = Sequence[bool] | None


class Rule(abc.ABC):
    """Three functions that every backend consumes, and what a backend may ask about them.

    All take the backend's namespace ``xp``. ``inputs`` are the op's inputs in order: arrays of one
    dtype, or Python numbers, at least one array; their shapes broadcast. ``needs`` says for each
    input whether its derivative is wanted (None: all); give the same ``needs`` to :meth:`save` and
    to what uses the saved values.

    Attributes:
        id: the gradient's name, for messages: ``sign:hardtanh(width=1.0)``.
        digest: stable across processes; two rules of one digest behave the same.
        arity: number of the op's inputs.
        attributes: the op's static arguments that differ from their defaults (``decimals``).
        elementwise: whether arrays may be cut, flattened or joined, all in the same way, before ``save`` and
            ``vjp``: each element of a result depends on that element of the inputs only. Not where a
            parameter is an array, or the op is along an axis.
        forward_mode: whether there is a :meth:`jvp`; not for a gradient of the upstream gradient.
        interval: ``(lo, hi)`` where the rule is 1 for ``lo <= x <= hi``, edges included, and 0 elsewhere, of
            an op of one input; else None. For backends with a kernel for that.
        learned: parameters that want a gradient: inputs of the rule that follow those of the op.
    """

    __slots__ = (
        "__weakref__",
        "arity",
        "attributes",
        "digest",
        "elementwise",
        "forward_mode",
        "id",
        "interval",
    )

    id: str
    digest: str
    arity: int
    attributes: Mapping[str, Any]
    elementwise: bool
    forward_mode: bool
    interval: tuple[float, float] | None
    learned: Sequence[Learned] = ()

    @property
    def upstream(self) -> bool:
        """Whether it depends on the upstream gradient; then there is no forward mode."""
        return not self.forward_mode

    @property
    def decimals(self) -> int:
        """The form of 0.1 of ``attributes.get("decimals", 0)``; deprecated."""
        _deprecated("rule.decimals", 'rule.attributes.get("decimals", 0)')
        found: int = self.attributes.get("decimals", 0)
        return found

    @property
    def gradient(self) -> Gradient:
        """The gradient that the rule was made of, as in 0.1; deprecated."""
        _deprecated("rule.gradient", "rule.id, rule.digest, rule.attributes")
        from surrogate._gradient import owner  # only for this: a rule knows no gradient

        return owner(self)

    def __repr__(self) -> str:
        given = "".join(f", {name}={value!r}" for name, value in self.attributes.items())
        return f"Rule({self.id!r}{given})"

    @abc.abstractmethod
    def kept(self, needs: Needs = None) -> Kind:
        """What :meth:`save` keeps: nothing (``CONSTANT``), masks, or the inputs."""

    def selects(self, needs: Needs = None) -> bool:
        """Whether :meth:`vjp` does no arithmetic: each cotangent is ``g`` or 0, element by element."""
        return False

    @property
    def variables(self) -> Sequence[ParameterValue]:
        """The parameters that change, which :meth:`save` reads by ``xp.parameter``."""
        return ()

    @property
    def shaped(self) -> bool:
        """Whether a parameter is an array that must meet the axes of the inputs, or is learned."""
        return False

    def check(self, inputs: Sequence[Array]) -> None:  # noqa: B027  (most parameters are numbers)
        """Refuse inputs to whose shape a parameter's does not broadcast, as :meth:`save` does.

        For a backend in whose :meth:`save` inputs have the axes of a map in front.

        Raises:
            ParameterError: one does not.
        """

    @abc.abstractmethod
    def save(self, xp: Any, inputs: Sequence[Array], needs: Needs = None) -> tuple[Array, ...]:
        """What must be kept between forward and backward; nothing else is read later."""

    @abc.abstractmethod
    def vjp(self, xp: Any, saved: Sequence[Array], g: Array, needs: Needs = None) -> tuple[Array | None, ...]:
        """One cotangent per input; None where it is not needed.

        Of ``g``'s shape and dtype where the op is elementwise: summing over the axes along which an operand
        was broadcast is the backend's part. Of each input's own shape for ``argmax``, ``searchsorted``.
        """

    @abc.abstractmethod
    def jvp(
        self, xp: Any, saved: Sequence[Array], tangents: Sequence[Array | None], needs: Needs = None
    ) -> Array | None:
        """The output's tangent; None among ``tangents``, or returned, is an exact zero.

        Raises:
            ForwardModeError: the rule has no forward mode.
        """

    def _wanted(self, needs: Needs) -> tuple[bool, ...]:
        return (True,) * self.arity if needs is None else tuple(needs)


def _deprecated(old: str, new: str) -> None:
    warnings.warn(f"{old} is deprecated since 0.2: use {new}.", DeprecationWarning, stacklevel=3)
