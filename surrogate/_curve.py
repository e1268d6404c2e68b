"""An op and its gradient along its first input, for drawing and measuring."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from surrogate import reference
from surrogate._gradient import Gradient
from surrogate._op import Op

Floats = npt.NDArray[np.float64]
Function = Callable[[Floats], Floats]


class Curve(NamedTuple):
    """Points along the first input: the op's value, and its derivative by the first input."""

    x: Floats
    forward: Floats
    slope: Floats


def curve(gradient: Gradient, *, reach: float = 3.0, count: int = 1200) -> Curve:
    """Evaluate a gradient on [-reach, reach], at upstream gradient 1.

    The number of points is even, so that neither 0 nor a tie of a rounding is one of them.
    """
    x = np.linspace(-reach, reach, count + count % 2)
    return Curve(x, value(gradient.op)(x), derivative(gradient)(x))


def value(op: Op) -> Function:
    """The op as a function of its first input, the others held; of an index among two, the first's entry."""
    if op.one_hot:
        return lambda x: 1.0 * (reference.forward(op.name, _beside_zero(x), axis=-1) == 0)
    return lambda x: reference.forward(op.name, x, *op.held).astype(np.float64)


def derivative(gradient: Gradient, by: int = 0, g: float = 1.0) -> Function:
    """The derivative by the input at position ``by`` as a function of the first input alone.

    Of a gradient that depends on the upstream gradient: its cotangent for ``g``, divided by ``g``.
    """
    op = gradient.op

    def at(x: Floats) -> Floats:
        if op.one_hot:
            entry = np.array([g, 0.0])
            found = reference.vjp(op.name, gradient, _beside_zero(x), g=entry, one_hot=True, axis=-1)[0]
            return np.asarray(found[..., 0] / g)
        if op.boundaries:  # each x has a row of its own, so that boundaries get no sum over x
            rows = np.broadcast_to(op.held[0], (x.size, len(op.held[0])))
            found = reference.vjp(op.name, gradient, x.reshape(-1, 1), rows, g=g)[by]
            return np.asarray(found.sum(axis=-1).reshape(x.shape) / g)
        others = [np.full_like(x, value) for value in op.held]  # not numbers: those get a sum
        return reference.vjp(op.name, gradient, x, *others, g=g)[by] / g

    return at


def held(op: Op) -> str:
    """What the other inputs are held at, in words; empty where there are none."""
    if op.one_hot:
        return "beside 0"
    return ", ".join(f"{name} = {_text(at)}" for name, at in zip(op.inputs[1:], op.held, strict=True))


def _beside_zero(x: Floats) -> Floats:
    return np.stack([x, np.zeros_like(x)], axis=-1)


def _text(at: Any) -> str:
    return f"({', '.join(map(_text, at))})" if isinstance(at, tuple) else f"{at:g}"
