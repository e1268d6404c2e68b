"""The names of ``xp`` that formulas are written over: each means what the reference's does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from surrogate import _dual, _numpy
from surrogate._dual import Dual
from surrogate.testing._compare import agree
from surrogate.testing._dtypes import numpy_dtype
from surrogate.testing._failure import demand, demand_all
from surrogate.testing._target import Target

Array = npt.NDArray[Any]

#: A framework's own elementary functions are not ours: what its manual allows, and no other function's value.
_ULPS = 16

_INF, _NAN = float("inf"), float("nan")
_POINTS = (-_INF, -3.0, -2.5, -1.5, -1.0, -0.5, -1e-3, -0.0, 0.0, 1e-3, 0.5, 1.0, 1.5, 2.5, 3.0, _INF, _NAN)
#: Pairs with ties, both zeros, infinities and NaN on either side.
_PAIRS = (
    (1.0, 2.0), (2.0, 1.0), (1.5, 1.5), (-1.0, -1.0), (0.0, 0.0), (0.5, -_INF), (-_INF, 0.5), (_INF, 3.0),
    (_NAN, 1.0), (1.0, _NAN),
)  # fmt: skip
#: Where a power is real, and its derivative by both finite.
_POWERS = ((0.5, 2.0), (1.0, 3.0), (2.0, -1.5), (3.0, 0.5), (1.5, 0.0))
_TRUTHS = ((False, False), (False, True), (True, False), (True, True))

NAMES = tuple(_numpy.__all__)
CONSTANTS = ("e", "inf", "nan", "pi")
TESTS = ("isfinite", "isinf", "isnan")
LOGICAL = ("logical_and", "logical_not", "logical_or")
BINARY = {"maximum": _PAIRS, "minimum": _PAIRS, "pow": _POWERS}
CASTS = ("astype_like", "ones_like", "widen", "where", "zeros_like")
ALONG = ("softmax", "sum")
_OTHERS = {*CONSTANTS, *TESTS, *LOGICAL, *BINARY, *CASTS, *ALONG, "parameter"}
UNARY = tuple(name for name in NAMES if name not in _OTHERS)


def names_value(target: Target, name: str) -> None:
    """A name of ``xp`` gives the reference's value at ties, both zeros, infinities and NaN."""
    function = _named(target, name)
    if name in CONSTANTS:
        expected = getattr(_numpy, name)
        demand(
            float(function) == expected or (name == "nan" and np.isnan(function)),
            f"xp.{name} is {function!r}",
        )
        return
    if name == "where":
        _where(target, function)
        return
    if name in CASTS:
        _casts(target, name, function)
        return
    if name in ALONG:
        _along(target, name, function)
        return
    if name == "parameter":
        return  # it is there; its values are checked with what gradients make of them
    inputs = _inputs(target, name)
    with np.errstate(all="ignore"):
        expected = getattr(_numpy, name)(*[x if x.dtype == bool else x.astype(np.float64) for x in inputs])
    got = target.take(function(*target.put(*inputs)))
    good = got == expected if expected.dtype == bool else agree(got, [expected], target.usual, _ULPS)
    _demand(good, f"xp.{name} gives another value", inputs, got, expected)


def _along(target: Target, name: str, function: Any) -> None:
    x = np.array([[0.5, -1.5, 2.0], [1.0, 1.0, -3.0]], numpy_dtype(target.usual))
    for axis in (None, 0, -1):
        expected = getattr(_numpy, name)(x.astype(np.float64), axis=axis)
        got = target.take(function(*target.put(x), axis=axis))
        good = agree(got, [expected], target.usual, _ULPS)
        _demand(good, f"xp.{name} along axis {axis} gives another value", [x], got, expected)


def names_derivative(target: Target, name: str) -> None:
    """A name of ``xp`` has the reference's derivative: half to each at a tie, 0 at the kink of ``abs``."""
    function = _named(target, name)
    inputs = _inputs(target, name)
    g = np.ones_like(inputs[0])
    _, found = target.driver.grad(function, target.put(*inputs), *target.put(g))
    for position, cotangent in enumerate(found):
        got = target.take(cotangent)
        expected = _slope(name, inputs, position)
        # 1 - tanh(x)**2 cancels: it is as exact as 1 is
        slack = _ULPS * float(np.finfo(target.usual).eps)
        good = agree(got, [expected], target.usual, _ULPS, slack) | np.isnan(expected) | _any_nan(inputs)
        _demand(good, f"xp.{name} has another derivative by input {position}", inputs, got, expected)


def differentiable(name: str) -> bool:
    """Whether a name has a derivative that formulas rely on."""
    return name in UNARY or name in BINARY


def _named(target: Target, name: str) -> Any:
    found = getattr(target.backend.xp, name, None)
    demand(found is not None, f"xp has no name {name!r}, which formulas may use.")
    return found


def _inputs(target: Target, name: str) -> list[Array]:
    if name in LOGICAL:
        columns = np.array(_TRUTHS).T
        return list(columns[: 1 if name == "logical_not" else 2])
    dtype = np.dtype(target.usual)
    if name in BINARY:
        return list(np.array(BINARY[name], dtype).T)
    return [np.array(_POINTS, dtype)]


def _slope(name: str, inputs: Sequence[Array], position: int) -> Array:
    """The derivative by one input, in float64."""
    duals = [Dual(x.astype(np.float64), np.full(x.shape, float(i == position))) for i, x in enumerate(inputs)]
    with np.errstate(all="ignore"):
        found = getattr(_dual, name)(*duals)
    return np.broadcast_to(found.slope, inputs[0].shape)


def _any_nan(inputs: Sequence[Array]) -> Any:
    return np.any([np.isnan(x) for x in inputs], axis=0)


def _where(target: Target, function: Callable[..., Any]) -> None:
    """It selects: what is not selected may be infinite or NaN, in value and in derivative."""
    dtype = np.dtype(target.usual)
    mask = np.array([True, False, True, False, True, False])
    x = np.array([1.0, _INF, -0.0, _NAN, _INF, 2.0], dtype)
    y = np.array([_INF, 1.0, _NAN, -2.0, -_INF, _NAN], dtype)
    put = target.put(mask)[0]
    got = target.take(function(put, *target.put(x, y)))
    expected = np.where(mask, x, y).astype(np.float64)
    _demand(agree(got, [expected], target.usual, 0), "xp.where does not select", [x, y], got, expected)
    g = np.array([_INF, 1.0, 2.0, _INF, 3.0, -1.0], dtype)
    _, found = target.driver.grad(lambda a, b: function(put, a, b), target.put(x, y), *target.put(g))
    for cotangent, chosen in zip(found, (mask, ~mask), strict=True):
        got, expected = target.take(cotangent), np.where(chosen, g, 0.0)
        good = agree(got, [expected], target.usual, 0)
        _demand(good, "the derivative of xp.where does not select", [x, y], got, expected)


def _casts(target: Target, name: str, function: Callable[..., Any]) -> None:
    for dtype in (name for name in target.backend.dtypes if name != "bfloat16"):
        x = np.array([-1.5, 0.0, 2.5], dtype)
        [put] = target.put(x)
        if name == "astype_like":
            wide = target.put(x.astype(target.usual))[0]
            got, expected = target.take(function(wide, put)), x
        else:
            got, expected = target.take(function(put)), getattr(_numpy, name)(x)
        demand(got.dtype == expected.dtype, f"xp.{name} of {dtype} is {got.dtype}, not {expected.dtype}.")
        _demand(got == expected, f"xp.{name} of {dtype} gives another value", [x], got, expected)


def _demand(good: Any, message: str, inputs: Sequence[Array], got: Array, expected: Array) -> None:
    columns = dict(zip(("x", "y"), inputs, strict=False))
    demand_all(good, message, {**columns, "got": got, "expected": expected})
