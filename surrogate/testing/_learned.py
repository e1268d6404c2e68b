"""Checks on parameters that are learned: each gets the derivative of the formula's primitive by it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from surrogate import reference
from surrogate._gradient import Gradient, make
from surrogate._override import override
from surrogate._registry import gradient, registry
from surrogate.testing._compare import agree
from surrogate.testing._dtypes import limits, numpy_dtype
from surrogate.testing._failure import demand_all, demand_equal
from surrogate.testing._modes import REVERSE, Mode
from surrogate.testing._parameters import unary_of
from surrogate.testing._target import Target

Array = npt.NDArray[Any]


def softsign(xp: Any, x: Any, *, k: float = 1.0) -> Any:
    """The derivative of ``kx / (1 + k|x|)``."""
    return k / xp.square(1 + k * xp.abs(x))


def softsign_by_k(xp: Any, x: Any, *, k: Any) -> Any:
    """That function's derivative by k."""
    return x / xp.square(1 + k * xp.abs(x))


def band(xp: Any, x: Any, *, k: float = 1.0) -> Any:
    """The derivative of ``clip(x, -k, k)``."""
    return xp.abs(x) <= k


def band_by_k(xp: Any, x: Any, *, k: Any) -> Any:
    """That function's derivative by k."""
    return xp.where(xp.abs(x) <= k, xp.zeros_like(x), xp.sign(x))


class Formula(NamedTuple):
    """A formula, and the derivative by k of the function whose derivative it is."""

    function: Callable[..., Any]
    by: Callable[..., Any]


FORMULAS = {"softsign": Formula(softsign, softsign_by_k), "band": Formula(band, band_by_k)}
#: What is learned, for an input of two rows of three; under ``vmap`` each row has its own.
SHAPES: dict[str, tuple[int, ...]] = {"number": (), "channel": (3,), "element": (2, 3)}

# short binary fractions; none is an edge of a band
_X = ((-1.75, -0.625, 1.375), (0.375, 0.875, 2.25))
_V = ((1.0, -2.0, 0.5), (3.0, 1.5, -1.0))
_K = (0.5, 1.0, 1.5, 0.75, 0.25, 2.0)


def inside(target: Target, shape: str, formula: str, mode: Mode) -> None:
    """The parameter and the block are inside of what is differentiated, mapped or compiled."""
    op, base, backend = unary_of(target), _base(target, formula), target.backend
    call = target.op(op)

    def f(x: Any, k: Any) -> Any:
        with override(backend, {op: gradient(op, base, k=k)}):
            return call(x)

    _expect(target, shape, formula, mode, f)


def around(target: Target, shape: str, formula: str) -> None:
    """The block is around what was compiled before, natively."""
    op, base = unary_of(target), _base(target, formula)
    compiled = target.driver.compile(target.op(op))
    compiled(*target.put(np.array(_X, numpy_dtype(target.usual))))

    def f(x: Any, k: Any) -> Any:
        with target.rules({op: gradient(op, base, k=k)}):
            return compiled(x)

    _expect(target, shape, formula, REVERSE[0], f)


def _base(target: Target, formula: str) -> Gradient:
    function, by = FORMULAS[formula]
    return make(dataclasses.replace(registry.anonymous(unary_of(target), function), by={"k": by}), {})


def _expect(target: Target, shape: str, formula: str, mode: Mode, f: Callable[..., Any]) -> None:
    dtype = target.usual
    forward, mapped = "forward" in mode.needs, "vmap" in mode.needs
    x, v = (np.array(rows, numpy_dtype(dtype)) for rows in (_X, _V))
    size = SHAPES[shape]
    whole = (2, *size) if mapped else size
    k = np.resize(np.array(_K, numpy_dtype(dtype)), whole)
    given = (v, np.resize(v[::-1], whole)) if forward else (v,)
    _, *found = map(target.take, mode.run(target.driver, f, target.put(x, k), target.put(*given)))
    of_x, of_k = _terms(formula, x, k, v, given[-1] if forward else v, mapped)
    if forward:
        _demand("the tangent", found[0], [of_x, of_k], (), dtype)
        return
    axes = tuple(range(int(mapped), 2 - len(size)))
    _demand("the derivative by x", found[0], [of_x], (), dtype)
    _demand("the derivative by the learned parameter", found[1], [of_k], axes, dtype)
    demand_equal(found[1].shape, k.shape, "the shape of the derivative by the learned parameter")


def _terms(formula: str, x: Array, k: Array, v: Array, w: Array, mapped: bool) -> tuple[Array, Array]:
    """The derivatives in float64, times what comes: by x, and by k before it is summed."""
    function, by = FORMULAS[formula]
    x, k, v, w = (a.astype(np.float64) for a in (x, k, v, w))
    if mapped:
        k, w = (a if a.ndim == 2 else a[:, None] for a in (k, w))
    return v * function(reference.xp, x, k=k), w * by(reference.xp, x, k=k)


def _demand(what: str, got: Array, terms: list[Array], axes: tuple[int, ...], dtype: str) -> None:
    """Demand the sum of the terms and over the axes; it is as exact as what is summed."""
    whole = [np.sum(term, axis=axes) for term in terms]
    expected = np.sum(whole, axis=0)
    size = np.sum([np.sum(np.abs(term), axis=axes) for term in terms], axis=0)
    good = agree(got, [expected], dtype, 4, 4 * limits(dtype).spacing(size))
    demand_all(good, f"{what} is wrong", {"got": got, "expected": expected})
