"""What a backend receives for one op: ``save``, ``vjp`` and ``jvp``, derived from one formula.

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
upstream gradient from turning into NaN where the window is closed.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from surrogate._errors import ForwardModeError
from surrogate._partial import Kind, Partial, Window, apply, probe

if TYPE_CHECKING:
    from surrogate._gradient import Gradient

Array = Any
Needs = Sequence[bool] | None


class Rule:
    """Three functions that every backend consumes, for one gradient.

    All take the backend's namespace ``xp``. ``inputs`` are the op's inputs in order: arrays of one
    dtype, or Python numbers, at least one array; their shapes broadcast. ``needs`` says for each
    input whether its derivative is wanted (None: all); give the same ``needs`` to :meth:`save` and
    to what uses the saved values.
    """

    __slots__ = ("__weakref__", "_call", "_kept", "_masks", "_partials", "decimals", "gradient")

    def __init__(self, gradient: Gradient, decimals: int = 0) -> None:
        self.gradient = gradient
        self.decimals = decimals
        self._call = functools.partial(gradient.formula.function, **gradient.params)
        self._partials: tuple[Partial, ...] = probe(gradient, self._evaluate)
        # asked for three times per call of an op: looked up, not computed
        choices = product((False, True), repeat=self.arity)
        self._kept = {wanted: _keeps(self._partials, wanted) for wanted in choices}
        self._masks = {wanted: _masks(self._partials, wanted) for wanted in self._kept}

    @property
    def arity(self) -> int:
        """Number of the op's inputs."""
        return self.gradient.op.arity

    @property
    def upstream(self) -> bool:
        """Whether the gradient depends on the upstream gradient; if so there is no :meth:`jvp`."""
        return self.gradient.upstream

    @property
    def digest(self) -> str:
        """Stable across processes; two rules of one digest behave the same."""
        return f"{self.gradient.digest}.{self.decimals}" if self.decimals else self.gradient.digest

    def __repr__(self) -> str:
        scaled = f", decimals={self.decimals}" if self.decimals else ""
        return f"Rule({self.gradient.id!r}{scaled})"

    def kept(self, needs: Needs = None) -> Kind:
        """What :meth:`save` keeps: nothing (``CONSTANT``), masks, or the inputs."""
        return self._kept[self._wanted(needs)]

    def selects(self, needs: Needs = None) -> bool:
        """Whether :meth:`vjp` does no arithmetic: each cotangent is ``g`` or 0, element by element."""
        wanted = zip(self._partials, self._wanted(needs), strict=True)
        return all(
            p.kind is not Kind.INPUTS and p.inside in (0, 1) and p.outside == 0 for p, w in wanted if w
        )

    def save(self, xp: Any, inputs: Sequence[Array], needs: Needs = None) -> tuple[Array, ...]:
        """What must be kept between forward and backward; nothing else is read later."""
        kept = self.kept(needs)
        if kept is Kind.INPUTS:
            return tuple(inputs[: self._reads])
        if kept is Kind.MASK:
            found = self._evaluate(xp, inputs, needs)
            if len(found) == 1:  # the common case is on every small op's way
                return (_mask(found[0]),)
            return tuple([_mask(found[position]) for position in self._masks[self._wanted(needs)]])
        return ()

    def vjp(self, xp: Any, saved: Sequence[Array], g: Array, needs: Needs = None) -> tuple[Array | None, ...]:
        """One cotangent per input, of ``g``'s shape and dtype; None where it is not needed.

        Summing over the axes along which an operand was broadcast is the backend's part.
        """
        if self.upstream:
            found = self._cotangents(xp, saved, g)
        else:
            wide = xp.widen(g) if self.kept(needs) is Kind.INPUTS else g
            restored = self._restore(xp, saved, needs)
            found = tuple([None if value is None else apply(xp, value, wide) for value in restored])
        both = zip(found, self._wanted(needs), strict=True)
        return tuple([None if v is None or not want else xp.astype_like(v, g) for v, want in both])

    def jvp(
        self, xp: Any, saved: Sequence[Array], tangents: Sequence[Array | None], needs: Needs = None
    ) -> Array | None:
        """The output's tangent; None among ``tangents``, or returned, is an exact zero.

        Raises:
            ForwardModeError: the gradient was registered with ``upstream=True``.
        """
        if self.upstream:
            raise ForwardModeError(
                f"{self.gradient.id} depends on the upstream gradient (upstream=True), so it has no "
                "forward mode: use reverse mode (grad, vjp), or a gradient without upstream."
            )
        wide = self.kept(needs) is Kind.INPUTS
        total = like = None
        for value, tangent in zip(self._restore(xp, saved, needs), tangents, strict=True):
            if tangent is None or value is None:
                continue
            term = apply(xp, value, xp.widen(tangent) if wide else tangent)
            total, like = (term, tangent) if total is None else (total + term, like)
        return total if total is None else xp.astype_like(total, like)

    # -- from the formula to partial derivatives --------------------------------------------

    @property
    def _reads(self) -> int:
        """How many of the inputs the formula and the op's own partials read."""
        gradient = self.gradient
        return max(gradient.formula.takes, gradient.op.tail is not None and not gradient.upstream)

    def _wanted(self, needs: Needs) -> tuple[bool, ...]:
        return (True,) * self.arity if needs is None else tuple(needs)

    def _evaluate(self, xp: Any, inputs: Sequence[Array], needs: Needs = None) -> tuple[Any, ...]:
        """The partial derivative by each input; those that a formula leaves out only if one is wanted."""
        op = self.gradient.op
        result = self._call(xp, *self._points(inputs))
        own = result if type(result) is tuple else (result,)
        if len(own) >= op.arity:
            return own
        if op.tail is None or (needs is not None and not any(needs[len(own) :])):
            return own + (0.0,) * (op.arity - len(own))
        return own + tuple(op.tail(xp, *inputs)[len(own) :])

    def _cotangents(self, xp: Any, saved: Sequence[Array], g: Array) -> tuple[Any, ...]:
        """What an upstream formula returns; inputs it says nothing about get 0."""
        wide, points = xp.widen(g), self._points([xp.widen(x) for x in saved])
        result = self._call(xp, wide, *points)
        own = result if type(result) is tuple else (result,)
        return own + tuple(xp.zeros_like(wide) for _ in range(self.arity - len(own)))

    def _points(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """Where the formula is evaluated: ``round(x, d)`` steps like ``round`` at ``x * 10**d``."""
        points, d = inputs[: self.gradient.formula.takes], self.decimals
        if not d:
            return points
        return [x * 10.0**d if d > 0 else x / 10.0**-d for x in points]

    def _restore(self, xp: Any, saved: Sequence[Array], needs: Needs) -> tuple[Any, ...]:
        """The partial derivatives, from what was saved; None where it is not needed."""
        wanted = self._wanted(needs)
        if self.kept(needs) is Kind.INPUTS:
            found = self._evaluate(xp, [xp.widen(x) for x in saved], needs)
            return tuple(
                None if not want else Window(value, 1.0, 0.0) if _is_bare_mask(value, p) else value
                for value, want, p in zip(found, wanted, self._partials, strict=True)
            )
        masks = iter(saved)
        return tuple(
            [
                None
                if not want
                else p.inside
                if p.kind is Kind.CONSTANT
                else Window(next(masks), p.inside, p.outside)
                for p, want in zip(self._partials, wanted, strict=True)
            ]
        )


def _keeps(partials: Sequence[Partial], wanted: Sequence[bool]) -> Kind:
    found = {p.kind for p, want in zip(partials, wanted, strict=True) if want}
    return next((kind for kind in (Kind.INPUTS, Kind.MASK) if kind in found), Kind.CONSTANT)


def _masks(partials: Sequence[Partial], wanted: Sequence[bool]) -> tuple[int, ...]:
    """The positions of the inputs whose derivative is a mask that must be kept."""
    both = enumerate(zip(partials, wanted, strict=True))
    return tuple(position for position, (p, want) in both if want and p.kind is Kind.MASK)


def _mask(value: Any) -> Array:
    return value.mask if isinstance(value, Window) else value


def _is_bare_mask(value: Any, partial: Partial) -> bool:
    return partial.kind is Kind.MASK and not isinstance(value, Window)
