"""Rules of ops that are not elementwise: over a one-hot vector, and over sorted boundaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from surrogate._bound import Bound
from surrogate._elementwise import ElementwiseRule
from surrogate._errors import FormulaError
from surrogate._partial import Kind, Window, apply, is_number
from surrogate._rule import Array, Needs, Rule
from surrogate._upstream import UpstreamRule


class OneHotRule(UpstreamRule):
    """The rule of an index along an axis, over the one-hot vector of that index.

    ``g``, what :meth:`vjp` gives, tangents and what :meth:`jvp` gives have the shape of the op's input. The
    formula applies the one-hot vector's derivative, a matrix along the axis, to ``g``. If the matrix is
    symmetric, forward mode is the same formula.
    """

    __slots__ = ()

    def __init__(self, bound: Bound) -> None:
        super().__init__(bound)
        self.forward_mode = bound.symmetric

    def kept(self, needs: Needs = None) -> Kind:
        return super().kept(needs) if self._positions or self._live else Kind.CONSTANT

    def jvp(
        self, xp: Any, saved: Sequence[Array], tangents: Sequence[Array | None], needs: Needs = None
    ) -> Array | None:
        if not self.forward_mode:
            return super().jvp(xp, saved, tangents, needs)
        (tangent,) = tangents
        return None if tangent is None else self.vjp(xp, saved, tangent, needs)[0]


class BoundariesRule(Rule):
    """The rule of an index among sorted boundaries: a step at each.

    ``h`` is the derivative of one step. With ``d = x - b``, :meth:`vjp` gives ``g * sum_b h(d)`` in the shape
    of x, and for each boundary ``-sum_x g * h(d)``, in the shape of the boundaries: one row for all x, or
    one for each row of x.
    """

    __slots__ = ("_step",)

    def __init__(self, bound: Bound) -> None:
        if bound.upstream or bound.takes != 1:
            raise FormulaError(
                f"{bound.id}: a gradient of {bound.op.name!r} is a function of the distance to a boundary, "
                "def name(xp, x, *, parameters), as those of 'heaviside' are."
            )
        self._step = ElementwiseRule(bound.of_one_input())
        self.id, self.digest, self.attributes = bound.id, bound.digest, bound.attributes
        self.arity, self.elementwise, self.forward_mode = 2, False, True
        self.interval = None

    def kept(self, needs: Needs = None) -> Kind:
        return Kind.INPUTS if any(self._wanted(needs)) else Kind.CONSTANT

    def save(self, xp: Any, inputs: Sequence[Array], needs: Needs = None) -> tuple[Array, ...]:
        live = self._step.live
        return (*inputs, *live.kept(xp, inputs[:1])) if any(self._wanted(needs)) else ()

    def vjp(self, xp: Any, saved: Sequence[Array], g: Array, needs: Needs = None) -> tuple[Array | None, ...]:
        by_x, by_boundary = self._wanted(needs)
        if not (by_x or by_boundary):
            return None, None
        product = self._times(xp, saved, xp.widen(g)[..., None])
        return (
            xp.astype_like(xp.sum(product, axis=-1), g) if by_x else None,
            xp.astype_like(-self._over_x(xp, product, saved[1]), g) if by_boundary else None,
        )

    def jvp(
        self, xp: Any, saved: Sequence[Array], tangents: Sequence[Array | None], needs: Needs = None
    ) -> Array | None:
        by_x, by_boundary = tangents
        if by_x is None and by_boundary is None:
            return None
        step: Any = 0.0
        if by_x is not None:
            step = step + xp.widen(by_x)[..., None]
        if by_boundary is not None:
            step = step - _in_rows(xp.widen(by_boundary))
        like = by_x if by_x is not None else by_boundary
        return xp.astype_like(xp.sum(self._times(xp, saved, step), axis=-1), like)

    def _times(self, xp: Any, saved: Sequence[Array], v: Array) -> Array:
        """``h(x - b) * v``, boundaries along a new last axis."""
        x, boundaries = (xp.widen(one) for one in saved[:2])
        d = x[..., None] - _in_rows(boundaries)
        values = self._step.live.again(xp, saved[2:], x)
        values = {name: v[..., None] if len(v.shape) else v for name, v in values.items()}
        (value,) = self._step.partials_at(xp, [d], values)
        if not isinstance(value, Window) and not is_number(value):
            return value * v
        return apply(xp, value, v + xp.zeros_like(d))

    def _over_x(self, xp: Any, product: Array, boundaries: Array) -> Array:
        axes = tuple(range(len(product.shape) - 1)) if len(boundaries.shape) == 1 else -2
        return xp.sum(product, axis=axes) if axes != () else product


def _in_rows(boundaries: Array) -> Array:
    return boundaries if len(boundaries.shape) == 1 else boundaries[..., None, :]
