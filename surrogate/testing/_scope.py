"""Checks on scope: where an override is in force, and when its gradient is decided.

They put constants in place of the derivative of one op, so that one number tells which override was
seen.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from surrogate import reference
from surrogate._listing import op as op_of
from surrogate._override import use
from surrogate.testing._failure import BrokenPromiseError, demand_all, demand_equal
from surrogate.testing._modes import SecondMode
from surrogate.testing._target import Target, constant


def restores(target: Target) -> None:
    """After an override the framework is native again, also when the block raised."""
    meter = target.meter
    with target.rules(meter.rules(2.0)):
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
        with target.rules(meter.rules(2.0)):
            raise KeyError("planned")
    except KeyError:
        pass
    meter.expect(meter.native, "after a block that raised")


def nests(target: Target) -> None:
    """Overrides nest, the inner one wins, and "native" cuts a hole."""
    meter = target.meter
    with target.rules(meter.rules(2.0)):
        with target.rules(meter.rules(3.0)):
            meter.expect(3.0, "inside two overrides")
            with target.rules({meter.op: "native"}):
                meter.expect(meter.native, "inside a native hole")
            meter.expect(3.0, "after a native hole")
        meter.expect(2.0, "after the inner override")
    meter.expect(meter.native, "after both overrides")


def any_order(target: Target) -> None:
    """Handles undo in any order; what is left is in force, and context-local beats process-wide."""
    meter, backend = target.meter, target.backend
    first, second, third = (use(backend, meter.rules(factor)) for factor in (2.0, 3.0, 5.0))
    try:
        meter.expect(5.0, "under three handles")
        with target.rules(meter.rules(7.0)):
            meter.expect(7.0, "inside an override under three handles")
        with target.rules({meter.op: "native"}):
            meter.expect(meter.native, "inside a native hole under three handles")
        second.undo()
        meter.expect(5.0, "after the middle handle was undone")
        third.undo()
        meter.expect(2.0, "after the last handle was undone")
    finally:
        for handle in (first, second, third):
            handle.undo()
    meter.expect(meter.native, "after all handles were undone")


def other_threads(target: Target) -> None:
    """Another thread sees ``use`` and never somebody's ``override``."""
    meter, backend = target.meter, target.backend
    with ThreadPoolExecutor(1) as pool:
        with target.rules(meter.rules(2.0)):
            demand_equal(pool.submit(meter.read).result(), meter.native, "an override seen in another thread")
            meter.expect(2.0, "inside an override")
        with use(backend, meter.rules(3.0)):
            demand_equal(pool.submit(meter.read).result(), 3.0, "use() seen in another thread")
        demand_equal(pool.submit(meter.read).result(), meter.native, "another thread after use()")


def threads(target: Target) -> None:
    """Eight threads of 200 rounds with different rules do not disturb each other."""
    meter = target.meter
    start, wrong = threading.Barrier(8), []

    def work(number: int) -> None:
        start.wait()
        for i in range(200):
            factor = float(2 + number + 8 * (i % 2))
            with target.rules(meter.rules(factor)):
                got = meter.read()
            if got != factor:
                wrong.append((number, i, got, factor))

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work, number) for number in range(8)]:
            done.result()
    if wrong:
        raise BrokenPromiseError(f"{len(wrong)} of 1600 rounds saw another thread's rule: {wrong[:5]}")
    meter.expect(meter.native, "after all threads")


def tasks(target: Target) -> None:
    """Async tasks that take turns each see their own override."""
    meter = target.meter

    async def work(factor: float) -> list[float]:
        found = []
        with target.rules(meter.rules(factor)):
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
    meter = target.meter

    @target.rules(meter.rules(2.0))
    def decorated() -> Iterator[float]:
        yield meter.read()
        yield meter.read()

    def suspended() -> Iterator[float]:
        with target.rules(meter.rules(3.0)):
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
    meter = target.meter
    read = target.rules(meter.rules(2.0))(meter.read)
    for _ in range(2):
        demand_equal(read(), 2.0, "inside a decorated function")
        meter.expect(meter.native, "after a decorated function")


def decided_forward(target: Target) -> None:
    """Promise 2: the rule in force when the op runs is the one its backward uses."""
    meter = target.meter

    def inside(*inputs: Any) -> Any:
        with target.rules(meter.rules(2.0)):
            return meter.call(*inputs)

    demand_equal(meter.read(inside), 2.0, "a backward that runs after the block")
    with target.rules(meter.rules(3.0)):
        demand_equal(meter.read(inside), 2.0, "a backward that runs inside another override")

    def outside(*inputs: Any) -> Any:
        with target.rules({meter.op: "native"}):
            return meter.call(*inputs)

    with target.rules(meter.rules(3.0)):
        demand_equal(meter.read(outside), meter.native, "a backward inside an override of a native forward")


def _uses_ops(xp: Any, x: Any) -> Any:
    return xp.abs(x) * 0.5 + xp.square(x) + xp.sign(x) + xp.floor(x) + xp.round(x) + xp.trunc(x) + xp.ceil(x)


def formula_is_native(target: Target, mode: SecondMode) -> None:
    """Promise 4: what a formula calls, and the derivative of what it calls, never sees overrides."""
    meter, backend = target.meter, target.backend
    x = np.array([-1.75, -0.25, 0.25, 1.25], np.float32)
    inputs = [x, *(np.full_like(x, v[0]) for v in meter.inputs[1:])]
    ones = np.ones_like(x)
    everything: dict[str, Any] = {
        op: constant(7.0) if op_of(op).elementwise else "identity" for op in backend.ops
    }
    rules = {**everything, meter.op: _uses_ops}
    with target.rules(rules):
        found = mode.prepare(target.driver, meter.call, 0)(*target.put(*inputs, ones, ones, np.zeros_like(x)))
    expected = reference.second(meter.op, _uses_ops, *inputs, t=(1.0, *(0.0 for _ in inputs[1:])))[0]
    got = target.take(found[0])
    columns = {"x": x, "got": got, "expected": expected}
    demand_all(
        got == expected, f"the derivative of a formula under rules for {', '.join(sorted(rules))}", columns
    )


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
