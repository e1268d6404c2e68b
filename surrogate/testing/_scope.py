"""Checks on scope: where an override is in force, and when its gradient is decided.

They put constants in place of the derivative of one op, so that one number tells which override was
seen.
"""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from surrogate._errors import NothingCapturedWarning
from surrogate._listing import op as _op
from surrogate._override import ProcessOverride, override, use
from surrogate.testing._failure import CheckFailed, demand_equal
from surrogate.testing._run import Target

#: Ops whose native derivative every framework has, the best known first.
_PREFERRED = ("sign", "round", "floor", "ceil", "trunc", "abs", "relu", "clip", "mod", "fmod")


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
        rest = (3.0, 5.0, 7.0)[: _op(self.op).arity - 1]
        self._inputs = [np.array([value], np.float32) for value in (0.25, *rest)]
        self.native = self.read()

    def call(self, *inputs: Any) -> Any:
        """The op."""
        return self.target.backend.call(self.op, *inputs)

    def read(self, f: Callable[..., Any] | None = None) -> float:
        """The derivative here and now."""
        put = self.target.put
        _, found = self.target.backend.grad(f or self.call, put(*self._inputs), *put(np.ones(1, np.float32)))
        return float(self.target.take(found[0])[0])

    def rules(self, factor: float) -> dict[str, Any]:
        """Rules under which it reads ``factor``."""
        return {self.op: _constant(factor)}

    def expect(self, expected: float, where: str) -> None:
        """Fail unless it reads ``expected``."""
        demand_equal(self.read(), expected, f"the derivative of {self.op} {where}")


def _constant(factor: float) -> Callable[..., float]:
    return _CONSTANTS.setdefault(factor, lambda xp, x: factor)


_CONSTANTS: dict[float, Callable[..., float]] = {}


def restores(target: Target) -> None:
    """After an override the framework is native again, also when the block raised."""
    meter = Meter(target)
    with override(target.backend, meter.rules(2.0)):
        meter.expect(2.0, "inside an override")
    meter.expect(meter.native, "after an override")
    with use(target.backend, meter.rules(3.0)):
        meter.expect(3.0, "inside 'with use(...)'")
    meter.expect(meter.native, "after 'with use(...)'")
    handle = use(target.backend, meter.rules(5.0))
    meter.expect(5.0, "after use(...)")
    handle.undo()
    meter.expect(meter.native, "after undo()")
    try:
        with override(target.backend, meter.rules(2.0)):
            raise KeyError("planned")
    except KeyError:
        pass
    meter.expect(meter.native, "after a block that raised")


def nests(target: Target) -> None:
    """Overrides nest, the inner one wins, and "native" cuts a hole."""
    meter, backend = Meter(target), target.backend
    with override(backend, meter.rules(2.0)):
        with override(backend, meter.rules(3.0)):
            meter.expect(3.0, "inside two overrides")
            with target.rules({meter.op: "native"}):
                meter.expect(meter.native, "inside a native hole")
            meter.expect(3.0, "after a native hole")
        meter.expect(2.0, "after the inner override")
    meter.expect(meter.native, "after both overrides")


def any_order(target: Target) -> None:
    """Handles undo in any order; what is left is in force, and context-local beats process-wide."""
    meter, backend = Meter(target), target.backend
    first, second, third = (use(backend, meter.rules(factor)) for factor in (2.0, 3.0, 5.0))
    try:
        meter.expect(5.0, "under three handles")
        with override(backend, meter.rules(7.0)):
            meter.expect(7.0, "inside an override under three handles")
        with target.rules({meter.op: "native"}):
            meter.expect(meter.native, "inside a native hole under three handles")
        _undo(second)  # it was never on top, so it captured nothing
        meter.expect(5.0, "after the middle handle was undone")
        third.undo()
        meter.expect(2.0, "after the last handle was undone")
    finally:
        for handle in (first, second, third):
            _undo(handle)
    meter.expect(meter.native, "after all handles were undone")


def _undo(handle: ProcessOverride) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingCapturedWarning)
        handle.undo()


def other_threads(target: Target) -> None:
    """Another thread sees ``use`` and never somebody's ``override``."""
    meter, backend = Meter(target), target.backend
    with ThreadPoolExecutor(1) as pool:
        with override(backend, meter.rules(2.0)):
            demand_equal(pool.submit(meter.read).result(), meter.native, "an override seen in another thread")
            meter.expect(2.0, "inside an override")
        with use(backend, meter.rules(3.0)):
            demand_equal(pool.submit(meter.read).result(), 3.0, "use() seen in another thread")
        demand_equal(pool.submit(meter.read).result(), meter.native, "another thread after use()")


def threads(target: Target) -> None:
    """Eight threads of 200 rounds with different rules do not disturb each other."""
    meter = Meter(target)
    start, wrong = threading.Barrier(8), []

    def work(number: int) -> None:
        start.wait()
        for i in range(200):
            factor = float(2 + number + 8 * (i % 2))
            with override(target.backend, meter.rules(factor)):
                got = meter.read()
            if got != factor:
                wrong.append((number, i, got, factor))

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work, number) for number in range(8)]:
            done.result()
    if wrong:
        raise CheckFailed(f"{len(wrong)} of 1600 rounds saw another thread's rule: {wrong[:5]}")
    meter.expect(meter.native, "after all threads")


def tasks(target: Target) -> None:
    """Async tasks that take turns each see their own override."""
    meter = Meter(target)

    async def work(factor: float) -> list[float]:
        found = []
        with override(target.backend, meter.rules(factor)):
            for _ in range(5):
                found.append(meter.read())
                await asyncio.sleep(0)
        return found

    async def together() -> list[list[float]]:
        return await asyncio.gather(*(work(float(k)) for k in (2, 3, 5)))

    for factor, found in zip((2.0, 3.0, 5.0), asyncio.run(together()), strict=True):
        demand_equal(found, [factor] * 5, f"a task with its own override of {factor}")
    meter.expect(meter.native, "after all tasks")


def generators(target: Target) -> None:
    """A decorated generator keeps its override inside; one suspended in a block shows it until it goes on."""
    meter = Meter(target)

    @override(target.backend, meter.rules(2.0))
    def decorated() -> Iterator[float]:
        yield meter.read()
        yield meter.read()

    def suspended() -> Iterator[float]:
        with override(target.backend, meter.rules(3.0)):
            yield meter.read()

    for found in decorated():
        demand_equal(found, 2.0, "inside a decorated generator")
        meter.expect(meter.native, "while a decorated generator is suspended")
    steps = suspended()
    demand_equal(next(steps), 3.0, "inside a generator's block")
    meter.expect(3.0, "while a generator is suspended inside a block")
    steps.close()  # type: ignore[attr-defined]
    meter.expect(meter.native, "after the generator was closed")


def decorated(target: Target) -> None:
    """As a decorator an override is in force in every call, and only there."""
    meter = Meter(target)
    read = override(target.backend, meter.rules(2.0))(meter.read)
    for _ in range(2):
        demand_equal(read(), 2.0, "inside a decorated function")
        meter.expect(meter.native, "after a decorated function")


def decided_forward(target: Target) -> None:
    """Promise 2: the rule in force when the op runs is the one its backward uses."""
    meter, backend = Meter(target), target.backend

    def inside(*inputs: Any) -> Any:
        with override(backend, meter.rules(2.0)):
            return meter.call(*inputs)

    demand_equal(meter.read(inside), 2.0, "a backward that runs after the block")
    with target.rules(meter.rules(3.0)):
        demand_equal(meter.read(inside), 2.0, "a backward that runs inside another override")

    def outside(*inputs: Any) -> Any:
        with override(backend, {meter.op: "native"}):
            return meter.call(*inputs)

    with target.rules(meter.rules(3.0)):
        demand_equal(meter.read(outside), meter.native, "a backward inside an override of a native forward")


SCOPE = (
    restores,
    nests,
    any_order,
    other_threads,
    threads,
    tasks,
    generators,
    decorated,
    decided_forward,
)
