"""Checks on compiled code: never stale, in either direction, and not compiled again for equal rules."""

from __future__ import annotations

from unittest import mock

import numpy as np

from surrogate._override import use
from surrogate._registry import gradient
from surrogate.testing._failure import demand_equal
from surrogate.testing._modes import Mode
from surrogate.testing._target import Target


class _Compiled:
    """One compiled object, read again and again."""

    def __init__(self, target: Target, mode: Mode) -> None:
        self.meter = target.meter
        self._target = target
        self._arguments = target.put(*self.meter.inputs, np.ones(1, np.float32))
        f = self.meter.call
        if "vmap" in mode.needs:
            self._arguments = target.put(*(x[None] for x in self.meter.inputs), np.ones((1, 1), np.float32))
        self._function = mode.prepare(target.driver, f)

    def read(self) -> float:
        return float(self._target.take(self._function(*self._arguments)[1]).ravel()[0])

    def expect(self, expected: float, where: str) -> None:
        demand_equal(
            self.read(), expected, f"the derivative of {self.meter.op} from one compiled object, {where}"
        )


def off_on_off(target: Target, mode: Mode) -> None:
    """Promise 3: one compiled object called outside, inside and outside an override is never stale."""
    compiled = _Compiled(target, mode)
    meter, backend = compiled.meter, target.backend
    for around in ("first", "second"):
        compiled.expect(meter.native, f"outside, the {around} time")
        with target.rules(meter.rules(2.0)):
            compiled.expect(2.0, f"inside an override, the {around} time")
        compiled.expect(meter.native, f"after an override, the {around} time")
        with target.rules(meter.rules(3.0)):
            compiled.expect(3.0, f"inside another override, the {around} time")
            with target.rules({meter.op: "native"}):
                compiled.expect(meter.native, f"inside a native hole, the {around} time")
    with target.rules(meter.rules(2.0)):
        handle = use(backend, meter.rules(5.0))
        compiled.expect(2.0, "inside an override, with use() under it")
    compiled.expect(5.0, "under use()")
    handle.undo()
    compiled.expect(meter.native, "after use() was undone")


def on_off_on(target: Target, mode: Mode) -> None:
    """Promise 3, the other way round: compiled inside an override first."""
    compiled = _Compiled(target, mode)
    with target.rules(compiled.meter.rules(2.0)):
        compiled.expect(2.0, "inside an override, at first")
    compiled.expect(compiled.meter.native, "after the override it was compiled in")
    with target.rules(compiled.meter.rules(2.0)):
        compiled.expect(2.0, "inside the override again")


def compiled_once(target: Target, mode: Mode) -> None:
    """Equal rules made anew do not compile again.

    What is traced is captured, and asks the rule what to keep. A compiled object that runs again may tell
    what it captured, or ask the rule; it does not do both.
    """
    compiled = _Compiled(target, mode)
    op = compiled.meter.op
    rule = type(gradient(op, "identity").rule)

    def asked() -> int:
        with target.rules({op: "identity"}) as active:
            with mock.patch.object(rule, "save", autospec=True, side_effect=native) as save:
                compiled.read()
            return min(save.call_count, active.hits[op])

    native = rule.save
    demand_equal(asked() > 0, True, f"that {op} is captured when it is compiled")
    for _ in range(3):
        demand_equal(asked(), 0, f"times that {op} is captured anew when a compiled object runs again")
