"""A backend under test: its arrays in NumPy terms, and a meter that tells which override is in force."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from surrogate._backend import Backend
from surrogate._listing import op as _op
from surrogate._override import ScopedOverride, override
from surrogate._registry import Spec
from surrogate.testing._dtypes import numpy_dtype
from surrogate.testing._failure import demand_equal

Array = npt.NDArray[Any]

#: Ops whose native derivative every framework has, the best known first.
_PREFERRED = ("sign", "round", "floor", "ceil", "trunc", "abs", "relu", "clip", "mod", "fmod")


class Target:
    """A backend under test.

    Attributes:
        backend: the backend.
        driver: what drives its framework.
        kept: what several checks look at, by key; see :meth:`once`.
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.driver = backend.driver()
        self.kept: dict[Any, Any] = {}

    @property
    def usual(self) -> str:
        """The dtype of checks that are not about dtypes."""
        return "float32" if "float32" in self.backend.dtypes else self.backend.dtypes[0]

    @cached_property
    def meter(self) -> Meter:
        """The meter; made before the first check, so that it has seen the framework native."""
        return Meter(self)

    def op(self, name: str) -> Callable[..., Any]:
        """The op as a function of its inputs."""
        return lambda *inputs: self.driver.call(name, *inputs)

    def put(self, *arrays: Array) -> list[Any]:
        """NumPy arrays as the framework's."""
        return [self.driver.asarray(x) for x in arrays]

    def take(self, array: Any) -> Array:
        """The framework's array as NumPy's."""
        return np.asarray(self.driver.numpy(array))

    def rules(self, rules: Mapping[str, Spec]) -> ScopedOverride:
        """An override with these rules."""
        return override(self.backend, rules)

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """What ``make()`` gave or raised the first time it was asked for under this key."""
        if key not in self.kept:
            try:
                self.kept[key] = make()
            except Exception as error:
                self.kept[key] = error
        found = self.kept[key]
        if isinstance(found, Exception):
            raise found
        return found


class Meter:
    """Reads off the derivative of one op which override is in force.

    Attributes:
        op: the op it measures.
        native: what it reads without any override.
    """

    def __init__(self, target: Target) -> None:
        ops = target.backend.ops
        self.op = next((op for op in _PREFERRED if op in ops), min(ops))
        self.target = target
        known = _op(self.op)
        rest = known.samples.rows(known.arity)[0]
        self.inputs = [np.array([value], numpy_dtype(target.usual)) for value in (0.25, *rest)]
        self.native = self.read()

    def call(self, *inputs: Any) -> Any:
        """The op."""
        return self.target.driver.call(self.op, *inputs)

    def read(self, f: Callable[..., Any] | None = None) -> float:
        """The derivative here and now."""
        put = self.target.put
        g = np.ones_like(self.inputs[0])
        _, found = self.target.driver.grad(f or self.call, put(*self.inputs), *put(g))
        return float(self.target.take(found[0])[0])

    def rules(self, factor: float) -> dict[str, Any]:
        """Rules under which it reads ``factor``."""
        return {self.op: constant(factor)}

    def expect(self, expected: float, where: str) -> None:
        """Fail unless it reads ``expected``."""
        demand_equal(self.read(), expected, f"the derivative of {self.op} {where}")


def constant(factor: float) -> Callable[..., float]:
    return _CONSTANTS.setdefault(factor, lambda xp, x: factor)


_CONSTANTS: dict[float, Callable[..., float]] = {}
