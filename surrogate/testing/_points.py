"""The points at which every gradient is checked: ties, edges and their neighbours, zeros, ends, NaN."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from surrogate.testing._cases import Case
from surrogate.testing._dtypes import Limits, limits, neighbours, numpy_dtype, represents

Array = npt.NDArray[Any]

_MAGNITUDES = (1e-3, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 1e4, np.inf)
_FILLER = 0.75
#: The number of points is a multiple of it.
MULTIPLE = 64
UPSTREAM = (1.0, -2.0, 0.0, np.inf)


@dataclass(frozen=True)
class Grid:
    """All points of one check, in one array per operand, of shape ``(upstream values, points)``."""

    dtype: str
    inputs: tuple[Array, ...]
    g: Array

    @property
    def limits(self) -> Limits:
        """The range of the dtype."""
        return limits(self.dtype)

    def flushed(self) -> Grid:
        """What a framework that flushes subnormal numbers sees."""
        return Grid(self.dtype, tuple(self.limits.flush(x) for x in self.inputs), self.g)

    def finite(self) -> Grid:
        """Only the points where every input is finite, and the finite upstream values."""
        keep = np.all([np.isfinite(x[0].astype(np.float64)) for x in self.inputs], axis=0)
        rows = np.isfinite(self.g[:, 0].astype(np.float64))
        pick = np.ix_(rows, keep)
        return Grid(self.dtype, tuple(x[pick] for x in self.inputs), self.g[pick])

    def wide(self) -> tuple[Array, ...]:
        """The inputs in float64, unchanged in value."""
        return tuple(x.astype(np.float64) for x in self.inputs)


def grid(case: Case, dtype: str) -> Grid:
    """Every x with every further operand and every upstream value."""
    xs = abscissae(case, dtype)
    op = case.gradient.op
    others = op.samples.rows(op.arity)
    rows = list(product(xs, others))
    # few different shapes, so that frameworks that compile each op for each shape do so few times
    rows += [(_FILLER, others[0])] * (-len(rows) % MULTIPLE)
    columns = [np.array([x for x, _ in rows])]
    columns += [np.array([other[i] for _, other in rows]) for i in range(len(others[0]))]
    kind, n = numpy_dtype(dtype), len(rows)
    inputs = tuple(np.tile(column, (len(UPSTREAM), 1)).astype(kind) for column in columns)
    return Grid(dtype, inputs, np.repeat(np.array(UPSTREAM)[:, None], n, axis=1).astype(kind))


def abscissae(case: Case, dtype: str) -> list[float]:
    """The values of x, each exact in the dtype."""
    tiny = limits(dtype).subnormal
    found = [-np.inf, *(-m for m in reversed(_MAGNITUDES[:-1])), -tiny, -0.0, 0.0, tiny, *_MAGNITUDES, np.nan]
    for corner in (*case.gradient.op.samples.corners, *case.gradient.params.values()):
        for edge in (corner, -corner):
            # a window's edge is a tie only where the dtype has that number; its neighbours never are
            found += [*([edge] if represents(dtype, edge) else []), *neighbours(dtype, edge)]
    exact = [float(np.asarray(x).astype(numpy_dtype(dtype))) for x in found]
    return list({repr(x): x for x in exact}.values())  # each once; 0.0 and -0.0 are two
