"""A backend without a framework: it records what the core tells it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import surrogate


class ToyDriver(surrogate.Driver):
    """NumPy's arrays as they are."""

    def asarray(self, x: Any) -> Any:
        return x

    def numpy(self, x: Any) -> Any:
        return x

    def spellings(self, op: str) -> Any:
        raise NotImplementedError

    def grad(self, f: Any, inputs: Any, g: Any) -> Any:
        raise NotImplementedError


class Toy(surrogate.Backend):
    framework = "numpy"

    def __init__(
        self, name: str = "toy", ops: Iterable[str] = ("sign", "round", "floor", "relu"), **attributes: Any
    ) -> None:
        self.name = name
        self.ops = frozenset(ops)
        self.xp = None
        self.applied: list[tuple[dict[str, str] | None, str]] = []
        self.fail = False
        for key, value in attributes.items():
            setattr(self, key, value)

    def apply(self, rules: surrogate.RuleSet | None, scope: str) -> None:
        if self.fail and rules:
            raise surrogate.IncompatibleFrameworkError("the hook is gone")
        self.applied.append((None if rules is None else specs(rules), scope))

    def driver(self) -> ToyDriver:
        return ToyDriver(self)

    def hit(self, op: str) -> None:
        self.state().captured(op)

    @property
    def here(self) -> dict[str, str]:
        return specs(self.state().rules)


def specs(rules: Any) -> dict[str, str]:
    return {op: gradient.spec for op, gradient in rules.items()}
