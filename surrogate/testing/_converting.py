"""Checks on operands that are no arrays of the framework but turn into them, or are absent."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from surrogate._errors import SurrogateError
from surrogate._listing import op as op_of
from surrogate.testing._dtypes import numpy_dtype
from surrogate.testing._failure import demand
from surrogate.testing._target import Target

Array = npt.NDArray[Any]


#: What an operand is made of, whatever the framework: a NumPy array. A backend adds to these its own.
KINDS: dict[str, Callable[[Array], Any]] = {
    "a NumPy array": np.asarray,
    "a NumPy scalar": lambda x: x[0],
    "a list": lambda x: x.tolist(),
    "a number": lambda x: float(x[0]),
    "a whole number": lambda x: 2,
    "a boolean": lambda x: True,
    "None": lambda x: None,
}

_FORMULAS: dict[int, Callable[..., Any]] = {
    1: lambda xp, x: 3.0,
    2: lambda xp, x, y: (3.0, 5.0),
    3: lambda xp, x, lo, hi: (3.0, 5.0, 7.0),
}

# short binary fractions; the last of three operands is never below the second
_ROWS = ((-1.75, -0.25, 0.5, 2.5), (1.5, -0.5, 0.75, 0.25), (1.5, 0.5, 2.0, 4.0))


def converting(target: Target, op: str, position: int) -> None:
    """Promise 1: an operand that turns into an array is not taken for absent, or for another."""
    known = op_of(op)
    rows = [np.array(row, numpy_dtype(target.usual)) for row in _ROWS[: known.arity]]
    rest = [row for at, row in enumerate(rows) if at != position]
    rule = {op: _FORMULAS[known.arity]}
    for name, make in {**KINDS, **target.driver.convertible()}.items():
        odd = make(rows[position])

        def call(*arrays: Any, odd: Any = odd) -> Any:
            return target.driver.call(op, *arrays[:position], odd, *arrays[position:])

        def derived(call: Any = call) -> Any:
            value = np.asarray(target.take(call(*target.put(*rest))))
            return target.driver.grad(call, target.put(*rest), *target.put(np.ones_like(value)))[0]

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            native = [_outcome(target, lambda: call(*target.put(*rest)))]
            with target.rules(rule):
                found = _outcome(target, derived if rest else call)
            if found not in native:  # where it is differentiated a framework may refuse what it computes
                native.append(_outcome(target, derived))
        refused = isinstance(found, type) and issubclass(found, SurrogateError)
        demand(
            refused or found in native,
            f"{op} with {name} as operand {position + 1} is {_told(found)} under a rule; "
            f"natively it is {' or '.join(map(_told, native))}",
        )


def _outcome(target: Target, run: Callable[..., Any]) -> Any:
    """The dtype, the shape and the bits of what it gives, or the class of what it raises."""
    try:
        found = np.asarray(target.take(run()))
    except Exception as error:
        return type(error)
    return found.dtype.name, found.shape, found.tobytes()


def _told(outcome: Any) -> str:
    return outcome.__name__ if isinstance(outcome, type) else f"{outcome[0]}{list(outcome[1])} {outcome[2]!r}"
