"""One framework call for all points of a gradient: what the checks on numbers then look at.

The checks of one gradient, dtype and mode share one run, so that a whole backend takes minutes at most.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from surrogate.testing._cases import Case
from surrogate.testing._dtypes import numpy_dtype
from surrogate.testing._modes import Mode
from surrogate.testing._points import Grid, grid
from surrogate.testing._target import Target

Array = npt.NDArray[Any]


def run(target: Target, case: Case, dtype: str, mode: Mode) -> Run:
    """The run of a case; made once."""
    return target.once((case, dtype, mode.name), lambda: Run(target, case, dtype, mode))  # type: ignore[no-any-return]


def native(target: Target, case: Case, dtype: str, mode: Mode) -> Array:
    """The op's value at all points with no override active, compiled and mapped as in ``mode``."""
    found = target.once(
        ("native", case.op, *sorted(mode.needs & {"vmap", "compile"})), lambda: _native(target, case.op, mode)
    )
    return target.take(found(*target.put(*grid(case, dtype).inputs)))


def _native(target: Target, op: str, mode: Mode) -> Any:
    f = target.op(op)
    if "vmap" in mode.needs:
        f = target.driver.vmap(f)
    return target.driver.compile(f) if "compile" in mode.needs else f


class Run:
    """What a backend returned for one case, dtype and mode.

    Attributes:
        points: the points it was run at.
        value: the op's value.
        results: the cotangents, one per input, or the tangent alone.
    """

    def __init__(self, target: Target, case: Case, dtype: str, mode: Mode) -> None:
        self.points: Grid = grid(case, dtype)
        inputs = target.put(*self.points.inputs)
        if "forward" in mode.needs:
            given = target.put(*tangents(self.points))
            shown = target.put(*(spread(x, self.points) for x in self.points.inputs))
        else:
            given, shown = target.put(self.points.g), inputs
        with target.rules({case.op: case.gradient}):
            found = mode.run(target.driver, target.op(case.op), shown, given)
        self.value = target.take(found[0])
        self.results = [target.take(x) for x in found[1:]]


def tangents(points: Grid) -> list[Array]:
    """One row per input with that input's tangent alone, and one with all: ``(arity + 1, points)``."""
    arity, n = len(points.inputs), points.g.shape[1]
    rows = np.vstack([np.eye(arity), np.full(arity, -2.0)])
    kind = numpy_dtype(points.dtype)
    return [np.repeat(rows[:, i, None], n, axis=1).astype(kind) for i in range(arity)]


def spread(x: Array, points: Grid) -> Array:
    """An input of the grid with one row per tangent."""
    return np.tile(x[:1], (len(points.inputs) + 1, 1))


def spread_grid(points: Grid) -> Grid:
    """The points of a forward run: all inputs with one row per tangent."""
    inputs = tuple(spread(x, points) for x in points.inputs)
    return Grid(points.dtype, inputs, np.ones_like(inputs[0]))
