"""The ways a derivative is asked for, composed from a driver's small methods.

Each takes the driver, a function, its inputs and the upstream gradient (or the tangents), and gives
the value and the cotangents (or the tangent).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from surrogate._driver import Driver

Array = Any
Function = Callable[..., Any]


@dataclass(frozen=True)
class Mode:
    """One way.

    Attributes:
        name: as in a check's id.
        needs: the transforms a backend must claim.
        run: ``run(driver, f, inputs, v)``: the value, then the cotangents or the tangent.
        prepare: what of it is made once, and called again and again (the compiled object).
    """

    name: str
    needs: frozenset[str]
    prepare: Callable[[Driver, Function], Callable[..., tuple[Array, ...]]]

    def run(
        self, driver: Driver, f: Function, inputs: Sequence[Array], v: Sequence[Array]
    ) -> tuple[Array, ...]:
        """The value, then the cotangents for ``v = (g,)`` or the tangent for the tangents ``v``."""
        return self.prepare(driver, f)(*inputs, *v)


def reverse(driver: Driver, f: Function) -> Function:
    """``(*inputs, g) -> (value, *cotangents)``."""

    def value_and_cotangents(*arguments: Array) -> tuple[Array, ...]:
        value, cotangents = driver.grad(f, arguments[:-1], arguments[-1])
        return (value, *cotangents)

    return value_and_cotangents


def forward(driver: Driver, f: Function) -> Function:
    """``(*inputs, *tangents) -> (value, tangent)``."""

    def value_and_tangent(*arguments: Array) -> tuple[Array, ...]:
        half = len(arguments) // 2
        return tuple(driver.jvp(f, arguments[:half], arguments[half:]))

    return value_and_tangent


REVERSE = (
    Mode("eager", frozenset(), reverse),
    Mode("jit", frozenset({"compile"}), lambda b, f: b.compile(reverse(b, f))),
    Mode("grad_of_jit", frozenset({"compile"}), lambda b, f: reverse(b, b.compile(f))),
    Mode("vmap", frozenset({"vmap"}), lambda b, f: b.vmap(reverse(b, f))),
    Mode("grad_of_vmap", frozenset({"vmap"}), lambda b, f: reverse(b, b.vmap(f))),
    Mode("jit_of_vmap", frozenset({"vmap", "compile"}), lambda b, f: b.compile(b.vmap(reverse(b, f)))),
)

FORWARD = (
    Mode("forward", frozenset({"forward"}), forward),
    Mode("forward_of_jit", frozenset({"forward", "compile"}), lambda b, f: forward(b, b.compile(f))),
    Mode("jit_of_forward", frozenset({"forward", "compile"}), lambda b, f: b.compile(forward(b, f))),
    Mode("vmap_of_forward", frozenset({"forward", "vmap"}), lambda b, f: b.vmap(forward(b, f))),
)


def _reverse_over_reverse(b: Driver, f: Function, i: int) -> Function:
    def slopes(*arguments: Array) -> tuple[Array, ...]:
        *inputs, g, u, _ = arguments
        return tuple(b.grad(lambda *xs: b.grad(f, xs, g)[1][i], inputs, u)[1])

    return slopes


def _forward_over_reverse(b: Driver, f: Function, i: int) -> Function:
    def slopes(*arguments: Array) -> tuple[Array, ...]:
        *inputs, g, u, zero = arguments
        zeros = [zero for _ in inputs]
        return tuple(
            b.jvp(lambda *xs: b.grad(f, xs, g)[1][i], inputs, [*zeros[:j], u, *zeros[j + 1 :]])[1]
            for j in range(len(inputs))
        )

    return slopes


def _reverse_over_forward(b: Driver, f: Function, i: int) -> Function:
    """The gradient of the tangent by input ``i``; ``g`` scales that tangent."""

    def slopes(*arguments: Array) -> tuple[Array, ...]:
        *inputs, g, u, zero = arguments

        def tangent(*xs: Array) -> Array:
            zeros = [zero for _ in xs]
            return b.jvp(f, xs, [*zeros[:i], g, *zeros[i + 1 :]])[1]

        return tuple(b.grad(tangent, inputs, u)[1])

    return slopes


@dataclass(frozen=True)
class SecondMode:
    """One way to a second derivative.

    ``prepare(driver, f, i)`` gives ``(*inputs, g, u, zero) -> slopes``: how the cotangent of input ``i``
    (for ``g``) changes with each input, times ``u``. ``zero`` is an array of zeros.
    """

    name: str
    needs: frozenset[str]
    prepare: Callable[[Driver, Function, int], Function]


SECOND = (
    SecondMode("reverse_over_reverse", frozenset({"second"}), _reverse_over_reverse),
    SecondMode("forward_over_reverse", frozenset({"second", "forward"}), _forward_over_reverse),
    SecondMode("reverse_over_forward", frozenset({"second", "forward"}), _reverse_over_forward),
    SecondMode(
        "jit_of_second",
        frozenset({"second", "compile"}),
        lambda b, f, i: b.compile(_reverse_over_reverse(b, f, i)),
    ),
    SecondMode(
        "vmap_of_second",
        frozenset({"second", "vmap"}),
        lambda b, f, i: b.vmap(_reverse_over_reverse(b, f, i)),
    ),
)
