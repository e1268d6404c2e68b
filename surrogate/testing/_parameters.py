"""Checks on a gradient's parameters that are arrays and variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from surrogate import reference
from surrogate._gradient import Gradient
from surrogate._listing import op as _op
from surrogate._registry import registry
from surrogate._variable import Variable
from surrogate.testing._compare import ULPS, agree
from surrogate.testing._dtypes import numpy_dtype
from surrogate.testing._failure import demand_all, demand_equal
from surrogate.testing._modes import Mode
from surrogate.testing._target import Target

Array = npt.NDArray[Any]


def bump(xp: Any, x: Any, *, k: float = 1.0) -> Any:
    """A formula that keeps its input."""
    return 1 / (1 + xp.square(k * x))


def band(xp: Any, x: Any, *, k: float = 1.0) -> Any:
    """A formula that keeps a mask."""
    return xp.abs(x) <= k


FORMULAS: dict[str, Callable[..., Any]] = {"bump": bump, "band": band}
#: What a parameter may be, and its value for inputs of the shapes (2, 3) and, inside ``vmap``, (3,).
ARRAYS: dict[str, Callable[[tuple[int, ...]], Array]] = {
    "channel": lambda shape: np.array([0.5, 1.0, 1.5]),
    "element": lambda shape: np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape) / 4,
    "one": lambda shape: np.array([0.75]),
}

# short binary fractions; none is an edge of a band
_X = ((-1.75, -0.625, 1.375), (0.375, 0.875, 2.25))
_V = ((1.0, -2.0, 0.5), (3.0, 1.5, -1.0))


def array(target: Target, kind: str, formula: str, mode: Mode) -> None:
    """A parameter that is an array broadcasts against the op's input: per channel, per element."""
    shape = (3,) if "vmap" in mode.needs else (2, 3)
    op = unary_of(target)
    _expect(target, op, registry.gradient(op, FORMULAS[formula], {"k": ARRAYS[kind](shape)}), mode)


def variable(target: Target, formula: str, mode: Mode) -> None:
    """A variable's new value holds from the next forward on, in what was compiled before it changed too."""
    k, op = Variable(1.0), unary_of(target)
    found = registry.gradient(op, FORMULAS[formula], {"k": k})
    run = mode.prepare(target.driver, target.op(op))
    for value in (1.0, 0.5, 2.0, 1.0):
        k.value = value
        _expect(target, op, found, mode, run)


def variable_changed(target: Target, formula: str) -> None:
    """A backward pass uses the variable's value that its forward pass saw."""
    k, op = Variable(1.0), unary_of(target)
    found = registry.gradient(op, FORMULAS[formula], {"k": k})
    call = target.op(op)

    def changing(x: Any) -> Any:
        y = call(x)
        k.value = 3.0
        return y

    def run(x: Any, g: Any) -> tuple[Any, Any]:
        k.value = 0.5
        value, (cotangent,) = target.driver.grad(changing, [x], g)
        k.value = 0.5
        return value, cotangent

    _expect(target, op, found, None, run)


def _expect(target: Target, op: str, gradient: Gradient, mode: Mode | None, run: Any = None) -> None:
    dtype = target.usual
    x, v = (np.array(rows, numpy_dtype(dtype)) for rows in (_X, _V))
    if run is None:
        assert mode is not None
        run = mode.prepare(target.driver, target.op(op))
    with target.rules({op: gradient}):
        _, got = (target.take(a) for a in run(*target.put(x, v)))
    wide = x.astype(np.float64), v.astype(np.float64)
    expected = reference.vjp(op, gradient, wide[0], g=wide[1])[0]
    demand_equal(got.shape, x.shape, f"the shape of the derivative of {gradient.id}")
    columns = {"x": x, "v": v, "got": got, "expected": expected}
    good = agree(got, [expected], dtype, ULPS[dtype], np.zeros(x.shape))
    demand_all(good, f"the derivative of {gradient.id} is wrong", columns)


def unary_of(target: Target) -> str:
    """An op of one input, of the best known."""
    meter = target.meter.op
    return meter if _op(meter).arity == 1 else unary(target.backend.ops) or meter


def unary(ops: frozenset[str]) -> str | None:
    """An elementwise op of one input and a float output among these, or None."""
    found = (name for name in sorted(ops) if _op(name).arity == 1 and _op(name).elementwise)
    return next((name for name in found if _op(name).output == "float"), None)
