"""Checks on shapes: scalars, empty arrays, broadcast operands, non-contiguous arrays, integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from surrogate import reference
from surrogate._listing import op as _op
from surrogate._sum import broadcast_axes
from surrogate.testing._cases import Case
from surrogate.testing._compare import agree, bits, slack, ulps
from surrogate.testing._dtypes import limits, numpy_dtype, widened
from surrogate.testing._failure import Inapplicable, demand_all, demand_equal
from surrogate.testing._modes import Mode
from surrogate.testing._points import Grid
from surrogate.testing._target import Target

Array = npt.NDArray[Any]
Shape = tuple[int, ...]

#: One shape per operand; an op takes as many as it has inputs.
SHAPES: dict[str, tuple[Shape, ...]] = {
    "scalar": ((), (), ()),
    "empty": ((0,), (0,), (0,)),
    "vector": ((3,), (3,), (3,)),
    "matrix": ((2, 3), (2, 3), (2, 3)),
    "matrix_vector": ((2, 3), (3,), (3,)),
    "matrix_scalar": ((2, 3), (), ()),
    "vector_matrix": ((3,), (2, 3), (2, 3)),
    "scalar_matrix": ((), (2, 3), (2, 3)),
    "column_row": ((2, 1), (1, 3), (2, 3)),
    "transposed": ((3, 2), (3, 2), (3, 2)),
    "strided": ((3,), (3,), (3,)),
}
#: What a single input can have.
UNARY = ("scalar", "empty", "vector", "matrix", "transposed", "strided")

# short binary fractions, so that sums of masks are exact; none is at a tie
_FIRST = (-1.75, 0.25, 0.75, -0.625, 2.25, 1.125)
_UPSTREAM = (1.0, -2.0, 0.5, 1.0, 3.0, -1.0)


def shapes(target: Target, case: Case, dtype: str, name: str, mode: Mode) -> None:
    """Promise 8: results have their operand's shape; the cotangent of a broadcast operand is summed to it."""
    inputs, g = _arrays(case, dtype, name)
    call = target.op(case.op)
    native = _native(lambda: target.take(call(*target.put(*inputs))), f"{case.op} of the shapes {name}")
    with target.rules({case.op: case.gradient}):
        value, *found = (
            target.take(x) for x in mode.run(target.driver, call, target.put(*inputs), target.put(g))
        )
    demand_equal(value.shape, native.shape, "the value's shape is not the native one's")
    demand_all(bits(value) == bits(native), f"the value of {case.op}", {"got": value, "native": native})
    wide = [x.astype(np.float64) for x in inputs]
    expected = reference.vjp(case.op, case.gradient, *wide, g=g.astype(np.float64))
    for i, (label, got) in enumerate(zip(case.gradient.op.inputs, found, strict=True)):
        demand_equal(got.shape, inputs[i].shape, f"the shape of the derivative for {label}")
        # a sum is as exact as its terms
        terms = np.abs(_unsummed(case, wide, g, i))
        axes = broadcast_axes(g.shape, inputs[i].shape)
        total = terms.sum(axis=axes).reshape(inputs[i].shape)
        extra = limits(dtype).spacing(total) * 4 * (got.size < terms.size)
        good = agree(got, [expected[i]], dtype, ulps(case, dtype), extra)
        demand_all(good, f"the derivative of {case.id} for {label}", {"got": got, "expected": expected[i]})


def closed_over(target: Target, case: Case, dtype: str, mode: Mode) -> None:
    """Promise 6, where only the first operand is differentiated and mapped: the others are closed over."""
    (x, *rest), g = _arrays(case, dtype, "matrix_vector")
    constants = target.put(*rest)

    def call(v: Any) -> Any:
        return target.driver.call(case.op, v, *constants)

    given = target.put(x), target.put(g)
    with target.rules({case.op: case.gradient}):
        _, got = (target.take(a) for a in mode.run(target.driver, call, *given))
    full = tuple(np.broadcast_to(a, x.shape) for a in (x, *rest))
    upstream = g.astype(np.float64)
    expected = reference.vjp(case.op, case.gradient, *(a.astype(np.float64) for a in full), g=upstream)[0]
    extra = slack(case, Grid(dtype, full, g), upstream)[0]
    demand_equal(got.shape, x.shape, "the shape of the derivative for the first operand")
    good = agree(got, [expected], dtype, ulps(case, dtype), extra)
    columns = dict(zip(case.gradient.op.inputs, full, strict=True)) | {
        "g": g,
        "got": got,
        "expected": expected,
    }
    demand_all(good, f"the derivative of {case.id} by its first operand alone", columns)


def decimals(target: Target, case: Case, dtype: str, places: int, mode: Mode) -> None:
    """The formula of ``round(x, decimals)`` is evaluated at ``x * 10**decimals``."""
    x, g = _arrays(case, dtype, "matrix")
    arrays = [target.take(a) for a in target.put(*x)]

    def call(*inputs: Any) -> Any:
        return target.driver.call(case.op, *inputs, decimals=places)

    native = _native(lambda: target.take(call(*target.put(*arrays))), f"{case.op} with decimals={places}")
    with target.rules({case.op: case.gradient}):
        given = target.put(*arrays), target.put(g)
        value, got = (target.take(a) for a in mode.run(target.driver, call, *given))
    demand_all(bits(value) == bits(native), f"the value of {case.op}", {"got": value, "native": native})
    wide = [a.astype(np.float64) for a in arrays]
    upstream = g.astype(np.float64)
    (expected,) = reference.vjp(case.op, case.gradient, *wide, g=upstream, decimals=places)
    # the scaled input is rounded once more than the formula's own inputs are
    moved = reference.second(case.op, case.gradient, *wide, g=upstream, t=np.abs(wide[0]), decimals=places)[0]
    extra = 2.0 ** (1 - limits(widened(dtype)).bits) * np.abs(moved)
    good = agree(got, [expected], dtype, ulps(case, dtype), extra)
    columns = {"x": arrays[0], "g": g, "got": got, "expected": expected}
    demand_all(good, f"the derivative of {case.id} with decimals={places}", columns)


#: Inputs that are no floats, one row per operand.
INTEGERS: dict[str, tuple[tuple[int, ...], ...]] = {
    "int32": ((-3, -1, 0, 2, 7), (2, 3, -2, 5, 3), (4, 5, 6, 7, 8)),
    "bool": ((0, 1, 1, 0, 1), (1, 1, 1, 1, 1), (1, 1, 1, 1, 1)),
}


def integers(target: Target, op: str, kind: str) -> None:
    """Promise 8: integer and boolean inputs are left alone, also while a gradient is recorded."""
    columns = INTEGERS[kind][: _op(op).arity]
    inputs = target.put(*(np.array(column, kind) for column in columns))
    call = target.op(op)
    native = _outcome(lambda: target.take(call(*inputs)))
    with target.rules({op: lambda xp, x: 2.0}) as active:
        found = _outcome(lambda: target.take(call(*inputs)))
        recorded = _outcome(lambda: _while_recording(target, lambda: call(*inputs)))
        captured = active.hits[op]
    for got, where in ((found, "under an override"), (recorded, "while a gradient is recorded")):
        demand_equal(type(got), type(native), f"{op} of {kind}, {where} ({got!r}) and natively")
        if isinstance(native, np.ndarray) and isinstance(got, np.ndarray):
            demand_equal(got.dtype, native.dtype, f"the dtype of {op} of {kind}, {where}")
            same = (got == native) | ((got != got) & (native != native))
            demand_all(same, f"{op} of {kind}, {where}", {"got": got, "native": native})
    demand_equal(captured, 0, f"captures of {op} whose inputs are {kind}")


def _while_recording(target: Target, call: Callable[[], Any]) -> Array:
    """What a call gives inside a function of a float that is being differentiated."""
    found = []

    def f(v: Any) -> Any:
        found.append(call())
        return v * v

    one = np.ones(1, numpy_dtype(target.usual))
    target.driver.grad(f, target.put(one), *target.put(one))
    return target.take(found[0])


def _native(call: Callable[[], Array], what: str) -> Array:
    try:
        return call()
    except Exception as error:
        raise Inapplicable(f"the framework has no {what}: {type(error).__name__}: {error}") from error


def _outcome(call: Callable[[], Array]) -> Array | Exception:
    try:
        return call()
    except Exception as error:
        return error


def _arrays(case: Case, dtype: str, name: str) -> tuple[list[Array], Array]:
    kind, shapes = numpy_dtype(dtype), SHAPES[name][: case.gradient.op.arity]
    op = case.gradient.op
    rows = (_FIRST, *op.samples.columns(op.arity))
    inputs = [_fill(row, shape, kind, name) for row, shape in zip(rows, shapes, strict=False)]
    return inputs, _fill(_UPSTREAM, np.broadcast_shapes(*shapes), kind, name)


def _fill(row: tuple[float, ...], shape: Shape, kind: np.dtype[Any], name: str) -> Array:
    if name == "transposed":  # the same numbers, columns first: not contiguous
        return np.array(row).reshape(shape[::-1]).astype(kind).T
    if name == "strided":  # every other number of a longer array
        return np.array(row).astype(kind)[::2]
    return np.array(row[: int(np.prod(shape))]).reshape(shape).astype(kind)


def _unsummed(case: Case, wide: list[Array], g: Array, i: int) -> Array:
    full = [np.broadcast_to(x, g.shape) for x in wide]
    return reference.vjp(case.op, case.gradient, *full, g=g.astype(np.float64))[i]
