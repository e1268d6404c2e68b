"""Checks on operands that are no arrays of their own: Python numbers, and one array given twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from surrogate._listing import op as _op
from surrogate.testing._compare import bits
from surrogate.testing._dtypes import numpy_dtype
from surrogate.testing._failure import Inapplicable, demand_all, demand_equal
from surrogate.testing._modes import Mode
from surrogate.testing._target import Target

Array = npt.NDArray[Any]
Formula = Callable[..., Any]

#: Per arity, partials that no framework has: a constant, and a formula that needs every operand.
_FORMULAS: dict[int, tuple[Formula, Formula]] = {
    2: (lambda xp, x, y: (3.0, 5.0), lambda xp, x, y: (3.0 * x + y, 5.0 * y + x)),
    3: (
        lambda xp, x, lo, hi: (3.0, 5.0, 7.0),
        lambda xp, x, lo, hi: (3.0 * x + lo, 5.0 * lo + x, 7.0 * hi + x),
    ),
}

#: The operands of an op: ``None`` is the array, the others are Python numbers.
Operands = tuple[float | None, ...]

#: How an op of two or three operands is called with Python numbers.
NUMBERS: dict[int, dict[str, Operands]] = {
    2: {"number": (None, 2.0), "whole-number": (None, 2), "number-first": (2.0, None)},
    3: {"number": (None, -1.0, 1.0), "whole-number": (None, -1, 1)},
}

# short binary fractions: every expected number is exact in every dtype
_X = (-1.75, -0.25, 0.5, 0.75, 1.25, 2.5)
_UPSTREAM = (1.0, -2.0, 0.5, 1.0, 2.0, -1.0)


def number(target: Target, op: str, name: str, dtype: str, mode: Mode) -> None:
    """Promise 6: an operand that is a Python number does not leave the op native."""
    operands = NUMBERS[_op(op).arity][name]
    written = f"{op}({', '.join('x' if v is None else repr(v) for v in operands)})"
    _expect(target, op, written, operands, dtype, mode)


def same(target: Target, op: str, dtype: str, mode: Mode) -> None:
    """Promise 8: an array that is several operands gets the sum of their cotangents."""
    operands: Operands = (None,) * _op(op).arity
    _expect(target, op, f"{op}({', '.join('x' for _ in operands)})", operands, dtype, mode)


def _expect(target: Target, op: str, written: str, operands: Operands, dtype: str, mode: Mode) -> None:
    x, g = (np.array(row, numpy_dtype(dtype)) for row in (_X, _UPSTREAM))

    def call(v: Any) -> Any:
        return target.driver.call(op, *(v if operand is None else operand for operand in operands))

    try:
        native = target.take(call(*target.put(x)))
    except Exception as error:
        raise Inapplicable(f"the framework has no {written}: {type(error).__name__}: {error}") from error
    wide = [x.astype(np.float64) if operand is None else np.float64(operand) for operand in operands]
    for formula in _FORMULAS[len(operands)]:
        with target.rules({op: formula}):
            given = target.put(x), target.put(g)
            value, got = (target.take(a) for a in mode.run(target.driver, call, *given))
        demand_equal(value.dtype, native.dtype, f"the value's dtype of {written} is not the native one's")
        demand_all(bits(value) == bits(native), f"the value of {written}", {"got": value, "native": native})
        partials = formula(np, *wide)
        total = sum(p for p, operand in zip(partials, operands, strict=True) if operand is None)
        expected = np.broadcast_to(total * g.astype(np.float64), x.shape)
        demand_equal(got.shape, x.shape, f"the shape of the derivative of {written}")
        columns = {"x": x, "g": g, "got": got, "expected": expected}
        demand_all(got.astype(np.float64) == expected, f"the derivative of {written} for x is wrong", columns)
