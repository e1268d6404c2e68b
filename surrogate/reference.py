"""The judge of all backends: every op and gradient in NumPy, in float64.

>>> from surrogate import reference
>>> reference.vjp("sign", "hardtanh", [-2.0, -1.0, 0.5], g=3.0)
(array([0., 3., 3.]),)

``xp`` is the namespace it evaluates formulas over: all that a formula may use, and what a backend
whose arrays are NumPy's can take as its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from surrogate import _dual, _numpy as xp
from surrogate._dual import Dual
from surrogate._op import Op
from surrogate._registry import Spec, registry
from surrogate._rule import Rule
from surrogate._sum import broadcast_axes

Array = npt.NDArray[np.float64]

__all__ = ["forward", "jvp", "second", "vjp", "xp"]


def forward(op: str, *inputs: npt.ArrayLike, **attributes: Any) -> Array:
    """The op's value, NumPy's, in float64.

    Args:
        op: an op's name.
        inputs: its inputs, of shapes that broadcast.
        attributes: static arguments of the op, such as ``decimals``.

    Raises:
        UnknownOpError: no op has this name.
        TypeError: the wrong number of inputs, inputs that are not real numbers, or an attribute the op
            does not have.
    """
    known = registry.op(op)
    arrays = _arrays(known, inputs, attributes)
    with np.errstate(all="ignore"):
        return np.asarray(known.forward(*arrays, **attributes), dtype=np.float64)


def vjp(
    op: str, spec: Spec, *inputs: npt.ArrayLike, g: npt.ArrayLike = 1.0, **attributes: Any
) -> tuple[Array, ...]:
    """The cotangent of each input under a gradient, in float64.

    Args:
        op: an op's name.
        spec: a gradient for it.
        inputs: the op's inputs, of shapes that broadcast.
        g: the upstream gradient; broadcast to the output's shape.
        attributes: static arguments of the op, such as ``decimals``.

    Returns:
        One array per input, of the input's shape: summed over the axes it was broadcast along.

    Raises:
        UnknownOpError, UnknownGradientError, UnknownParameterError, ParameterError, SpecError:
            as :func:`surrogate.gradient`.
        TypeError: the wrong number of inputs, or an attribute the op does not have.
    """
    rule, arrays, shape = _prepare(op, spec, inputs, attributes)
    upstream = np.broadcast_to(np.asarray(g, np.float64), shape)
    with np.errstate(all="ignore"):
        found = rule.vjp(xp, rule.save(xp, arrays), upstream)
        return tuple(_sum_to(c, shape, x.shape) for c, x in zip(found, arrays, strict=True))


def jvp(op: str, spec: Spec, *inputs: npt.ArrayLike, t: Any = 1.0, **attributes: Any) -> Array:
    """The output's tangent under a gradient, in float64.

    Args:
        op, spec, inputs, attributes: as for :func:`vjp`.
        t: a tuple with the tangent of each input, or one value that all inputs share. Each is
            broadcast to its input's shape.

    Raises:
        ForwardModeError: the gradient depends on the upstream gradient.

    And what :func:`vjp` raises.
    """
    rule, arrays, shape = _prepare(op, spec, inputs, attributes)
    with np.errstate(all="ignore"):
        tangent = rule.jvp(xp, rule.save(xp, arrays), _tangents(t, arrays))
    return np.array(np.broadcast_to(np.asarray(tangent, np.float64), shape))


def second(
    op: str,
    spec: Spec,
    *inputs: npt.ArrayLike,
    g: npt.ArrayLike = 1.0,
    t: Any = 1.0,
    **attributes: Any,
) -> tuple[Array, ...]:
    """How the cotangents of :func:`vjp` change when the inputs move along ``t``, in float64.

    It is the derivative of the formula, exact (dual numbers): 0 for a window. Where a formula has a
    kink the library's own conventions hold, those of ``xp``: the derivative of ``abs`` is 0 at 0.

    Args:
        op, spec, inputs, g, attributes: as for :func:`vjp`.
        t: as for :func:`jvp`.

    Returns:
        One array per input, of the input's shape.
    """
    rule, arrays, shape = _prepare(op, spec, inputs, attributes)
    upstream = np.broadcast_to(np.asarray(g, np.float64), shape)
    with np.errstate(all="ignore"):
        duals = [Dual(x, slope) for x, slope in zip(arrays, _tangents(t, arrays), strict=True)]
        found = rule.vjp(_dual, rule.save(_dual, duals), upstream)
        slopes = (c.slope if isinstance(c, Dual) else np.zeros(shape) for c in found)
        return tuple(_sum_to(s, shape, x.shape) for s, x in zip(slopes, arrays, strict=True))


def _prepare(
    op: str, spec: Spec, inputs: tuple[npt.ArrayLike, ...], attributes: dict[str, Any]
) -> tuple[Rule, list[Array], tuple[int, ...]]:
    known = registry.op(op)
    arrays = _arrays(known, inputs, attributes)
    rule = registry.gradient(op, spec).at(**attributes)
    return rule, arrays, np.broadcast_shapes(*(x.shape for x in arrays))


def _arrays(op: Op, inputs: tuple[npt.ArrayLike, ...], attributes: dict[str, Any]) -> list[Array]:
    if len(inputs) != op.arity:
        raise TypeError(f"{op.name} takes {op.arity} input(s) ({', '.join(op.inputs)}), not {len(inputs)}.")
    op.static(attributes)  # a TypeError where the op has no such attribute
    return [_real(x) for x in inputs]


def _real(x: npt.ArrayLike) -> Array:
    array = np.asarray(x)
    if array.dtype.kind in "cUS":
        raise TypeError(f"the reference is for real numbers, not {array.dtype}.")
    return array.astype(np.float64)


def _tangents(t: Any, arrays: list[Array]) -> list[Array]:
    given = t if isinstance(t, tuple) else (t,) * len(arrays)
    if len(given) != len(arrays):
        raise TypeError(f"t has {len(given)} tangents for {len(arrays)} inputs.")
    return [np.broadcast_to(np.asarray(u, np.float64), x.shape) for u, x in zip(given, arrays, strict=True)]


def _sum_to(x: Any, shape: tuple[int, ...], target: tuple[int, ...]) -> Array:
    full = np.broadcast_to(np.asarray(x, np.float64), shape)
    return np.array(full if shape == target else full.sum(axis=broadcast_axes(shape, target)).reshape(target))
