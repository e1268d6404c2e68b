"""One framework call for all points of a gradient: what the value checks then look at.

The checks of one gradient, dtype and mode share one run, so that a whole backend takes minutes at most.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from surrogate._backend import Backend
from surrogate._errors import NothingCapturedWarning
from surrogate._override import ScopedOverride, override
from surrogate._registry import Spec
from surrogate.testing._cases import Case
from surrogate.testing._dtypes import numpy_dtype
from surrogate.testing._modes import Mode
from surrogate.testing._points import Grid, grid

Array = npt.NDArray[Any]


class Target:
    """A backend under test, with the results that several checks look at."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self._runs: dict[tuple[Any, ...], Run | Exception] = {}
        self._natives: dict[tuple[Any, ...], Array] = {}

    def op(self, name: str) -> Callable[..., Any]:
        """The op as a function of its inputs."""
        return lambda *inputs: self.backend.call(name, *inputs)

    def put(self, *arrays: Array) -> list[Any]:
        """NumPy arrays as the framework's."""
        return [self.backend.asarray(x) for x in arrays]

    def take(self, array: Any) -> Array:
        """The framework's array as NumPy's."""
        return np.asarray(self.backend.numpy(array))

    @contextmanager
    def rules(self, rules: dict[str, Spec]) -> Iterator[ScopedOverride]:
        """Rules in force; that nothing was captured is for the checks on values to find out."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NothingCapturedWarning)
            with override(self.backend, rules) as active:
                yield active

    def run(self, case: Case, dtype: str, mode: Mode) -> Run:
        """The value and cotangents (or tangent) of a case at all points; made once."""
        key = (case, dtype, mode.name)
        if key not in self._runs:
            try:
                self._runs[key] = Run(self, case, dtype, mode)
            except Exception as error:
                self._runs[key] = error
        found = self._runs[key]
        if isinstance(found, Exception):
            raise found
        return found

    def native(self, case: Case, dtype: str, mode: Mode) -> Array:
        """The op's value at all points with no override active, compiled and mapped as in ``mode``."""
        f, inputs = self.op(case.op), self.put(*grid(case, dtype).inputs)
        if "vmap" in mode.needs:
            f = self.backend.vmap(f)
        if "compile" in mode.needs:
            f = self.backend.compile(f)
        return self.take(f(*inputs))


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
            found = mode.run(target.backend, target.op(case.op), shown, given)
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
