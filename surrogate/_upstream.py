"""A rule from a formula of the upstream gradient, which gives the cotangents directly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from surrogate._bound import Bound
from surrogate._errors import ForwardModeError
from surrogate._live import Live
from surrogate._partial import Kind, apply, as_window
from surrogate._probe import probe_upstream
from surrogate._rule import Array, Needs, Rule
from surrogate._variable import ParameterValue


class UpstreamRule(Rule):
    """A rule whose formula takes the upstream gradient; there is no forward mode."""

    __slots__ = ("_bound", "_live", "_positions")

    def __init__(self, bound: Bound) -> None:
        self._bound = bound
        self.id, self.digest, self.attributes = bound.id, bound.digest, bound.attributes
        self._live = Live(bound.id, bound.live)
        self.arity, self.forward_mode, self.interval = bound.op.arity, False, None
        self.elementwise = bound.op.elementwise and not self._live.shaped
        given = probe_upstream(bound, self._live)
        moved = bool(bound.attributes) and bound.op.at is not None
        read = set(range(self.arity if moved else bound.takes))
        if given < self.arity:
            read |= bound.op.read_by_partials
        self._positions = tuple(sorted(read))

    def kept(self, needs: Needs = None) -> Kind:
        return Kind.INPUTS if any(self._wanted(needs)) else Kind.CONSTANT

    @property
    def variables(self) -> Sequence[ParameterValue]:
        return self._live.variables

    @property
    def shaped(self) -> bool:
        return self._live.shaped

    def check(self, inputs: Sequence[Array]) -> None:
        self._live.check(inputs)

    def save(self, xp: Any, inputs: Sequence[Array], needs: Needs = None) -> tuple[Array, ...]:
        if not any(self._wanted(needs)):
            return ()
        return tuple([inputs[i] for i in self._positions]) + self._live.kept(xp, inputs)

    def vjp(self, xp: Any, saved: Sequence[Array], g: Array, needs: Needs = None) -> tuple[Array | None, ...]:
        wanted = self._wanted(needs)
        if not any(wanted):
            return (None,) * self.arity
        found = self._cotangents(xp, saved, xp.widen(g), wanted)
        both = zip(found, wanted, strict=True)
        return tuple([xp.astype_like(v, g) if want else None for v, want in both])

    def jvp(
        self, xp: Any, saved: Sequence[Array], tangents: Sequence[Array | None], needs: Needs = None
    ) -> Array | None:
        raise ForwardModeError(
            f"{self.id} depends on the upstream gradient (upstream=True), so it has no "
            "forward mode: use reverse mode (grad, vjp), or a gradient without upstream."
        )

    def _cotangents(
        self, xp: Any, saved: Sequence[Array], g: Array, wanted: Sequence[bool]
    ) -> tuple[Any, ...]:
        """What the formula returns; inputs it says nothing about get the op's own, or 0."""
        op, inputs, count = self._bound.op, [None] * self.arity, len(self._positions)
        for position, x in zip(self._positions, saved[:count], strict=True):
            inputs[position] = xp.widen(x)
        own = self._bound.cotangents(xp, g, inputs, self._live.again(xp, saved[count:], g))
        left_out = self.arity - len(own)
        if not left_out:
            return own
        if op.partials is None or not any(wanted[len(own) :]):
            return own + tuple([xp.zeros_like(g) for _ in range(left_out)])
        rest = op.partials(xp, *inputs)[len(own) :]
        return own + tuple([apply(xp, as_window(value), g) for value in rest])
