"""The judge of all backends: every op and gradient in NumPy, in float64.

>>> from surrogate import reference
>>> reference.vjp("sign", "hardtanh", [-2.0, -1.0, 0.5], g=3.0)
(array([0., 3., 3.]),)

``xp`` is the namespace it evaluates formulas over: all that a formula may use, and what a backend
whose arrays are NumPy's can take as its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from surrogate import _dual, _numpy as xp
from surrogate._dual import Dual
from surrogate._op import Op
from surrogate._registry import Spec, registry
from surrogate._rule import Rule
from surrogate._sum import broadcast_axes

Array = npt.NDArray[np.float64]

_OUTPUT = {"float": np.float64, "bool": np.bool_, "integer": np.int64}

__all__ = ["forward", "jvp", "second", "vjp", "xp"]


def forward(op: str, *inputs: npt.ArrayLike, **attributes: Any) -> npt.NDArray[Any]:
    """The op's value, NumPy's: in float64, or booleans or int64 for an op that gives those.

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
        found = np.asarray(known.forward(*arrays, **attributes))
    return found if found.dtype == np.bool_ else found.astype(_OUTPUT[known.output])  # astype(to="bool")


def vjp(
    op: str,
    spec: Spec,
    *inputs: npt.ArrayLike,
    g: npt.ArrayLike = 1.0,
    one_hot: bool = False,
    **attributes: Any,
) -> tuple[Array, ...]:
    """The cotangent of each input under a gradient, in float64.

    Of an op that gives booleans or integers it is as if the value were cast to float64.

    Args:
        op: an op's name.
        spec: a gradient for it.
        inputs: the op's inputs, of shapes that broadcast.
        g: the upstream gradient; broadcast to the output's shape.
        one_hot: for ``argmax`` and ``argmin``: ``g`` is that of the one-hot vector of the index, in the shape
            of the input.
        attributes: static arguments of the op, such as ``decimals``.

    Returns:
        One array per input, of the input's shape: summed over the axes it was broadcast along.

    Raises:
        UnknownOpError, UnknownGradientError, UnknownParameterError, ParameterError, SpecError:
            as :func:`surrogate.gradient`.
        TypeError: the wrong number of inputs, or an attribute the op does not have.
    """
    prepared = _prepare(op, spec, inputs, attributes, one_hot)
    rule, arrays = prepared.rule, prepared.arrays
    with np.errstate(all="ignore"):
        found = rule.vjp(xp, rule.save(xp, arrays), prepared.upstream(g))
        return tuple(prepared.to_input(c, x) for c, x in zip(found, arrays, strict=True))


def jvp(
    op: str, spec: Spec, *inputs: npt.ArrayLike, t: Any = 1.0, one_hot: bool = False, **attributes: Any
) -> Array:
    """The output's tangent under a gradient, in float64.

    Args:
        op, spec, inputs, attributes: as for :func:`vjp`.
        t: a tuple with the tangent of each input, or one value that all inputs share. Each is
            broadcast to its input's shape.
        one_hot: for ``argmax`` and ``argmin``: the tangent is that of the one-hot vector.

    Raises:
        ForwardModeError: the gradient depends on the upstream gradient.

    And what :func:`vjp` raises.
    """
    prepared = _prepare(op, spec, inputs, attributes, one_hot)
    rule, arrays = prepared.rule, prepared.arrays
    with np.errstate(all="ignore"):
        return prepared.to_output(rule.jvp(xp, rule.save(xp, arrays), _tangents(t, arrays)))


def second(
    op: str,
    spec: Spec,
    *inputs: npt.ArrayLike,
    g: npt.ArrayLike = 1.0,
    t: Any = 1.0,
    one_hot: bool = False,
    **attributes: Any,
) -> tuple[Array, ...]:
    """How the cotangents of :func:`vjp` change when the inputs move along ``t``, in float64.

    It is the derivative of the formula, exact (dual numbers): 0 for a window. Where a formula has a
    kink the library's own conventions hold, those of ``xp``: the derivative of ``abs`` is 0 at 0.

    Args:
        op, spec, inputs, g, one_hot, attributes: as for :func:`vjp`.
        t: as for :func:`jvp`.

    Returns:
        One array per input, of the input's shape.
    """
    prepared = _prepare(op, spec, inputs, attributes, one_hot)
    rule, arrays = prepared.rule, prepared.arrays
    with np.errstate(all="ignore"):
        duals = [Dual(x, slope) for x, slope in zip(arrays, _tangents(t, arrays), strict=True)]
        found = rule.vjp(_dual, rule.save(_dual, duals), prepared.upstream(g))
        slopes = [c.slope if isinstance(c, Dual) else np.zeros(np.shape(np.asarray(c))) for c in found]
        return tuple(prepared.to_input(s, x) for s, x in zip(slopes, arrays, strict=True))


class _Prepared(NamedTuple):
    """A rule, its inputs, and the output's shape; ``places`` numbers the entries of a one-hot vector."""

    rule: Rule
    arrays: list[Array]
    shape: tuple[int, ...]
    elementwise: bool
    axis: int | None = None
    places: Array | None = None

    def upstream(self, g: npt.ArrayLike) -> Array:
        """The upstream gradient as the rule takes it: of an index as a float, each entry's is its number."""
        given = np.broadcast_to(np.asarray(g, np.float64), self.shape)
        if self.places is None:
            return given
        kept = len(self.shape) == self.places.ndim
        return self.places * (given if kept or self.axis is None else np.expand_dims(given, self.axis))

    def to_input(self, cotangent: Any, x: Array) -> Array:
        """A cotangent in the shape of an input."""
        shape = self.shape if self.elementwise else x.shape
        return _sum_to(cotangent, shape, x.shape)

    def to_output(self, tangent: Any) -> Array:
        """The rule's tangent as the output's."""
        found = np.asarray(tangent, np.float64)
        if self.places is None:
            return np.array(np.broadcast_to(found, self.shape))
        return np.array((self.places * found).sum(axis=self.axis).reshape(self.shape))


def _prepare(
    op: str, spec: Spec, inputs: tuple[npt.ArrayLike, ...], attributes: dict[str, Any], one_hot: bool
) -> _Prepared:
    known = registry.op(op)
    if one_hot and not known.one_hot:
        raise TypeError(f"{op} gives no index along an axis: one_hot=True is for argmax and argmin.")
    arrays = _arrays(known, inputs, attributes)
    rule = registry.gradient(op, spec).at(**attributes)
    if known.elementwise:
        return _Prepared(rule, arrays, np.broadcast_shapes(*(x.shape for x in arrays)), True)
    if not known.one_hot or one_hot:
        return _Prepared(rule, arrays, arrays[0].shape, False)
    axis, full = attributes.get("axis"), arrays[0].shape
    if axis is None:
        places = np.arange(arrays[0].size, dtype=np.float64).reshape(full)
    else:
        ones = [1] * len(full)
        ones[axis] = full[axis]
        places = np.broadcast_to(np.arange(full[axis], dtype=np.float64).reshape(ones), full)
    shape = known.forward(*arrays, **attributes).shape
    return _Prepared(rule, arrays, shape, False, axis, places)


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
