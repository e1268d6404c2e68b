"""A rule from partial derivatives: ``save``, ``vjp`` and ``jvp``, derived from one formula.

A formula returns the partial derivative by each input. What it returns decides what is kept:

================================  =================================  ==============================
the formula returns               kept for backward                  vjp
================================  =================================  ==============================
a Python number                   nothing                            ``c * g``
a boolean array                   that mask, one byte per element    ``where(mask, g, 0)``
``window(mask, 2.0, 0.1)``        the mask                           ``where(mask, 2.0 * g, 0.1 * g)``
a float array                     the inputs                         ``derivative * g``
``window(mask, array)``           the inputs                         ``where(mask, array * g, 0)``
================================  =================================  ==============================

The last row is a formula on a bounded support: selecting instead of multiplying keeps an infinite
upstream gradient from turning into NaN where the window is closed. A mask that several inputs share is
kept once.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from surrogate._bound import Bound
from surrogate._errors import FormulaError
from surrogate._live import Live, Values
from surrogate._partial import Kind, Partial, Window, apply
from surrogate._probe import probe
from surrogate._rule import Array, Needs, Rule
from surrogate._variable import ParameterValue

_NOTHING: Values = {}


class ElementwiseRule(Rule):
    """A rule whose formula gives the partial derivative by each input."""

    __slots__ = ("_bound", "_has_live", "_kept", "_masks", "_partials", "_positions", "live")

    def __init__(self, bound: Bound) -> None:
        self._bound = bound
        self.id, self.digest, self.attributes = bound.id, bound.digest, bound.attributes
        self.live = Live(bound.id, bound.live)
        self._has_live = bool(bound.live)  # on every small op's way
        self.arity, self.elementwise, self.forward_mode = bound.op.arity, not self.live.shaped, True
        probed = probe(bound, self._evaluate, self.live)
        self._partials: tuple[Partial, ...] = probed.partials
        self.interval = probed.interval
        # asked for three times per call of an op: looked up, not computed
        choices = list(product((False, True), repeat=self.arity))
        self._kept = {wanted: _keeps(self._partials, wanted) for wanted in choices}
        self._masks = {wanted: _masks(self._partials, probed.shared, wanted) for wanted in choices}
        self._positions = {wanted: self._reads(wanted) for wanted in choices}

    def kept(self, needs: Needs = None) -> Kind:
        return self._kept[self._wanted(needs)]

    def selects(self, needs: Needs = None) -> bool:
        wanted = zip(self._partials, self._wanted(needs), strict=True)
        return all(
            p.kind is not Kind.INPUTS and p.inside in (0, 1) and p.outside == 0 for p, w in wanted if w
        )

    def factors(self) -> tuple[float, ...]:
        """The numbers by which masks and constants scale."""
        return tuple(value for p in self._partials for value in (p.inside, p.outside))

    @property
    def variables(self) -> Sequence[ParameterValue]:
        return self.live.variables

    @property
    def shaped(self) -> bool:
        return self.live.shaped

    def check(self, inputs: Sequence[Array]) -> None:
        self.live.check(inputs)

    def save(self, xp: Any, inputs: Sequence[Array], needs: Needs = None) -> tuple[Array, ...]:
        kept = self.kept(needs)
        if kept is Kind.INPUTS:
            saved = tuple([inputs[i] for i in self._positions[self._wanted(needs)]])
            return saved + self.live.kept(xp, inputs) if self._has_live else saved
        if kept is Kind.MASK:
            found = self._evaluate_now(xp, inputs, needs)
            if len(found) == 1:  # the common case is on every small op's way
                return (_mask(found[0]),)
            places, shared = self._masks[self._wanted(needs)]
            for one, other in shared:
                if _mask(found[one]) is not _mask(found[other]):
                    raise FormulaError(f"{self.id} returned one mask for two inputs before, and now two.")
            return tuple([_mask(found[place]) for place in dict.fromkeys(places.values())])
        return ()

    def vjp(self, xp: Any, saved: Sequence[Array], g: Array, needs: Needs = None) -> tuple[Array | None, ...]:
        wide = xp.widen(g) if self.kept(needs) is Kind.INPUTS else g
        restored = self._restore(xp, saved, needs, g)
        found = [None if value is None else apply(xp, value, wide) for value in restored]
        return tuple([None if value is None else xp.astype_like(value, g) for value in found])

    def jvp(
        self, xp: Any, saved: Sequence[Array], tangents: Sequence[Array | None], needs: Needs = None
    ) -> Array | None:
        wide = self.kept(needs) is Kind.INPUTS
        total = like = None
        moving = next((tangent for tangent in tangents if tangent is not None), None)
        for value, tangent in zip(self._restore(xp, saved, needs, moving), tangents, strict=True):
            if tangent is None or value is None:
                continue
            term = apply(xp, value, xp.widen(tangent) if wide else tangent)
            total, like = (term, tangent) if total is None else (total + term, like)
        return total if total is None else xp.astype_like(total, like)

    def partials_at(self, xp: Any, inputs: Sequence[Array], values: Values) -> tuple[Any, ...]:
        """The partial derivatives at these inputs: numbers, windows or arrays."""
        found = self._evaluate(xp, inputs, values=values)
        return tuple(
            Window(value, 1.0, 0.0) if _is_bare_mask(value, p) else value
            for value, p in zip(found, self._partials, strict=True)
        )

    # -- from the formula to partial derivatives --------------------------------------------

    def _evaluate_now(self, xp: Any, inputs: Sequence[Array], needs: Needs) -> tuple[Any, ...]:
        """The same with the parameters' values of now; they are of the dtype of widened inputs."""
        if not self._has_live:
            return self._evaluate(xp, inputs, needs)
        return self._evaluate(xp, [xp.widen(x) for x in inputs], needs, self.live.read(xp, inputs))

    def _evaluate(
        self, xp: Any, inputs: Sequence[Array], needs: Needs = None, values: Values = _NOTHING
    ) -> tuple[Any, ...]:
        """The partial derivative by each input; those that a formula leaves out only if one is wanted."""
        op, own = self._bound.op, self._bound.evaluate(xp, inputs, values)
        if len(own) >= op.arity:
            return own
        if op.partials is None or (needs is not None and not any(needs[len(own) :])):
            return own + (0.0,) * (op.arity - len(own))
        return own + tuple(op.partials(xp, *inputs)[len(own) :])

    def _reads(self, wanted: Sequence[bool]) -> tuple[int, ...]:
        """The positions of the inputs that are read again for these derivatives.

        An input nobody reads is not kept, unless one behind it is: the formula takes the first ones.
        """
        op, own = self._bound.op, self._bound
        read = set(range(own.takes if not (own.attributes and op.at) else op.arity))
        if any(wanted[self._bound.takes :]):
            read |= op.read_by_partials
        return tuple(sorted(read))

    def _restore(self, xp: Any, saved: Sequence[Array], needs: Needs, like: Array) -> tuple[Any, ...]:
        """The partial derivatives, from what was saved; None where it is not needed."""
        wanted = self._wanted(needs)
        if self._kept[wanted] is Kind.INPUTS:
            values = _NOTHING
            if self._has_live:
                count = len(self._positions[wanted])
                saved, kept = saved[:count], saved[count:]
                values = self.live.again(xp, kept, like)
            found = self._evaluate(xp, self._inputs(xp, saved, wanted), needs, values)
            return tuple(
                None if not want else Window(value, 1.0, 0.0) if _is_bare_mask(value, p) else value
                for value, want, p in zip(found, wanted, self._partials, strict=True)
            )
        places, _ = self._masks[wanted]
        masks = dict(zip(dict.fromkeys(places.values()), saved, strict=True)) if places else {}
        return tuple(
            [
                None
                if not want
                else p.inside
                if p.kind is Kind.CONSTANT
                else Window(masks[places[i]], p.inside, p.outside)
                for i, (p, want) in enumerate(zip(self._partials, wanted, strict=True))
            ]
        )

    def _inputs(self, xp: Any, saved: Sequence[Array], wanted: tuple[bool, ...]) -> Sequence[Array]:
        """The inputs in their places, widened; None for those that were not kept."""
        positions = self._positions[wanted]
        if len(positions) == len(saved) == (positions[-1] + 1 if positions else 0):
            inputs = [xp.widen(x) for x in saved]
            return inputs + [None] * (self.arity - len(inputs))
        inputs = [None] * self.arity
        for position, x in zip(positions, saved, strict=True):
            inputs[position] = xp.widen(x)
        return inputs


def _keeps(partials: Sequence[Partial], wanted: Sequence[bool]) -> Kind:
    found = {p.kind for p, want in zip(partials, wanted, strict=True) if want}
    return next((kind for kind in (Kind.INPUTS, Kind.MASK) if kind in found), Kind.CONSTANT)


def _masks(
    partials: Sequence[Partial], shared: dict[int, int], wanted: Sequence[bool]
) -> tuple[dict[int, int], tuple[tuple[int, int], ...]]:
    """Input -> the input in whose place its mask is kept; and the pairs that must have one mask."""
    masks = [i for i, p in enumerate(partials) if wanted[i] and p.kind is Kind.MASK]
    places = {i: next(j for j in masks if shared.get(j, j) == shared.get(i, i)) for i in masks}
    return places, tuple((i, j) for i, j in places.items() if i != j)


def _mask(value: Any) -> Array:
    return value.mask if isinstance(value, Window) else value


def _is_bare_mask(value: Any, partial: Partial) -> bool:
    return partial.kind is Kind.MASK and not isinstance(value, Window)
