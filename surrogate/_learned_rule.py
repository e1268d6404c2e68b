"""A rule of which parameters are learned: they are inputs of it, after the op's own."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from surrogate import _dual, _numpy
from surrogate._bound import Bound
from surrogate._dual import Dual
from surrogate._elementwise import ElementwiseRule
from surrogate._errors import FormulaError, ParameterError
from surrogate._learned import Learned
from surrogate._live import Live
from surrogate._partial import Kind, Window, apply, is_number
from surrogate._rule import Array, Needs, Rule
from surrogate._variable import ParameterValue

By = Mapping[str, Callable[..., Any]]

_POINTS = np.array([-1.75, -0.3, 0.25, 1.25])


class LearnedRule(Rule):
    """A rule with learned parameters.

    Attributes:
        learned: the parameters, in the order in which they follow the op's inputs.
        apart: the same rule without the tensors, for what outlives them: a compiler's cache.
    """

    __slots__ = ("_bound", "_by", "_fixed", "_inner", "_live", "_names", "apart", "learned")

    def __init__(self, bound: Bound, by: By, fixed: Mapping[str, Any]) -> None:
        names = tuple(name for name, value in bound.live.items() if isinstance(value, Learned))
        for name in names:
            if name not in by:
                raise ParameterError(_no_primitive(bound.id, name, by))
        self.learned = tuple(value for value in bound.live.values() if isinstance(value, Learned))
        samples = {name: ParameterValue(bound.live[name].array, bound.live[name].handle) for name in names}
        bound = replace(bound, interval=None, live={**bound.live, **samples})
        self._bound, self._fixed, self._names = bound, dict(fixed), names
        self._by = tuple(by[name] for name in names)
        self._inner = ElementwiseRule(bound)
        self._live = Live(bound.id, {name: v for name, v in bound.live.items() if name not in names})
        self.id, self.digest, self.attributes = bound.id, bound.digest, bound.attributes
        self.arity, self.elementwise, self.forward_mode = bound.op.arity + len(names), False, True
        self.interval = None
        self.apart = copy.copy(self)
        self.apart.learned = ()

    def kept(self, needs: Needs = None) -> Kind:
        return Kind.INPUTS if any(self._wanted(needs)) else Kind.CONSTANT

    @property
    def shaped(self) -> bool:
        return True

    def check(self, inputs: Sequence[Array]) -> None:
        self._inner.check(inputs[: self._bound.op.arity])

    def save(self, xp: Any, inputs: Sequence[Array], needs: Needs = None) -> tuple[Array, ...]:
        if not any(self._wanted(needs)):
            return ()
        own = self._bound.op.arity
        self.check(inputs)
        return (*inputs, *self._live.kept(xp, inputs[:own]))

    def vjp(self, xp: Any, saved: Sequence[Array], g: Array, needs: Needs = None) -> tuple[Array | None, ...]:
        wanted = self._wanted(needs)
        if not any(wanted):
            return (None,) * self.arity
        wide = xp.widen(g)
        partials = self._partials(xp, saved, g, wanted)
        return tuple([None if p is None else xp.astype_like(apply(xp, p, wide), g) for p in partials])

    def jvp(
        self, xp: Any, saved: Sequence[Array], tangents: Sequence[Array | None], needs: Needs = None
    ) -> Array | None:
        moving = [t for t in tangents if t is not None]
        if not moving:
            return None
        wanted = [want and t is not None for want, t in zip(self._wanted(needs), tangents, strict=True)]
        terms = [
            apply(xp, partial, xp.widen(tangent))
            for partial, tangent in zip(self._partials(xp, saved, moving[0], wanted), tangents, strict=True)
            if partial is not None
        ]
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return xp.astype_like(total, moving[0])

    def _partials(self, xp: Any, saved: Sequence[Array], like: Array, wanted: Sequence[bool]) -> list[Any]:
        """The partial derivative by each input; None where it is not wanted."""
        own, bound = self._bound.op.arity, self._bound
        inputs = [xp.widen(x) for x in saved[:own]]
        values = self._live.again(xp, saved[self.arity :], like)
        values |= zip(self._names, map(xp.widen, saved[own : self.arity]), strict=True)
        found: list[Any] = [None] * own
        if any(wanted[:own]):
            found = list(self._inner.partials_at(xp, inputs, values))
        points = bound.points(inputs)
        found += [
            self._scaled(by(xp, *points, **self._fixed, **values)) if want else None
            for by, want in zip(self._by, wanted[own:], strict=True)
        ]
        return [value if want else None for value, want in zip(found, wanted, strict=True)]

    def _scaled(self, value: Any) -> Any:
        """``round(x, d)`` is a step function of ``x * 10**d``, divided by that again."""
        if not self.attributes:
            return value
        (scale,) = self._bound.points([1.0])
        return value / scale


def _no_primitive(owner: str, name: str, by: By) -> str:
    known = f"; it says so of {', '.join(sorted(by))}" if by else ""
    return (
        f"{owner}: {name} is given a tensor that wants a gradient, and the formula does not say what its "
        f"derivative by {name} is{known}. Give its value (detach(), numpy(), jax.lax.stop_gradient), a "
        "surrogate.Variable, which may change, or register a formula with "
        f"by={{{name!r}: function}}, the derivative by {name} of the function whose derivative it is."
    )


def check_by(label: str, function: Callable[..., Any], by: By, takes: int, params: Mapping[str, Any]) -> None:
    """Refuse what is no derivative by a parameter of a function whose derivative is the formula.

    There is one function S with ``dS/dx`` the formula and ``dS/dp`` what is stated just if both have the same
    mixed derivative.

    Raises:
        FormulaError: they differ, or it cannot be evaluated.
    """
    rest = [np.full(_POINTS.shape, value) for value in (-0.5, 0.75, 1.0)[: takes - 1]]
    for name, stated in by.items():
        others = {key: value for key, value in params.items() if key != name}
        p = np.float64(params[name])
        try:
            with np.errstate(all="ignore"):
                mixed = _slope(function(_dual, _POINTS, *rest, **others, **{name: Dual(p, 1.0)}))
                moved = Dual(_POINTS, np.ones_like(_POINTS))
                found = _slope(stated(_dual, moved, *rest, **others, **{name: p}))
                stated(_numpy, _POINTS, *rest, **others, **{name: p})
        except Exception as error:
            raise FormulaError(
                f"{label}: by[{name!r}] fails on NumPy arrays: {type(error).__name__}: {error}. It takes "
                "what the formula takes, (xp, *inputs, **parameters)."
            ) from error
        if not np.allclose(mixed, found, rtol=1e-8, atol=1e-10):
            raise FormulaError(
                f"{label}: by[{name!r}] is not the derivative by {name} of a function whose derivative is "
                f"the formula: at {_POINTS[0]:g} its own derivative by x is {found[0]:g}, and that of the "
                f"formula by {name} is {mixed[0]:g}."
            )


def _slope(value: Any) -> Any:
    """What a formula on dual numbers says of its own derivative."""
    value = value[0] if type(value) is tuple else value
    if isinstance(value, Window):
        value = _dual.where(value.mask, value.inside, value.outside)
    if isinstance(value, Dual):
        return np.broadcast_to(value.slope, np.broadcast_shapes(np.shape(value.slope), _POINTS.shape))
    assert is_number(value) or isinstance(value, np.ndarray)
    return np.zeros(_POINTS.shape)
