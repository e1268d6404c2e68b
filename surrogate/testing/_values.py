"""Checks on numbers: value, first derivatives, second derivatives, dtype and shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from surrogate import reference
from surrogate._errors import ForwardModeError
from surrogate._partial import Kind
from surrogate.testing._cases import Case
from surrogate.testing._compare import agree, bits, forward_slack, slack, tolerance, ulps
from surrogate.testing._dtypes import limits, widened
from surrogate.testing._failure import BrokenPromiseError, demand_all, demand_equal
from surrogate.testing._modes import FORWARD, Mode, SecondMode
from surrogate.testing._points import MULTIPLE, Grid, grid
from surrogate.testing._run import native, run, spread, spread_grid, tangents
from surrogate.testing._target import Target

Array = npt.NDArray[Any]


def value(target: Target, case: Case, dtype: str, mode: Mode) -> None:
    """Promise 1: the op's value is the native one, bit for bit."""
    found = run(target, case, dtype, mode)
    expected = native(target, case, dtype, mode)
    got = found.value
    if "forward" in mode.needs:
        expected = spread(expected, found.points)
    demand_equal(got.shape, expected.shape, "the value's shape is not the native one's")
    demand_equal(got.dtype, expected.dtype, "the value's dtype is not the native one's")
    columns = _inputs(found.points, got.shape) | {"got": got, "native": expected}
    demand_all(bits(got) == bits(expected), f"{case.id} changes the value of {case.op}", columns)


def dtype(target: Target, case: Case, dtype: str, mode: Mode) -> None:
    """Promise 8: every cotangent has the dtype and shape of its input."""
    found = run(target, case, dtype, mode)
    names = case.gradient.op.inputs if "forward" not in mode.needs else ("output",)
    shape = (
        found.points.g.shape
        if "forward" not in mode.needs
        else (len(found.points.inputs) + 1, found.points.g.shape[1])
    )
    demand_equal(len(found.results), len(names), "the number of cotangents is not the number of inputs")
    for name, result in zip(names, found.results, strict=True):
        demand_equal(result.dtype, found.points.inputs[0].dtype, f"the dtype of the derivative for {name}")
        demand_equal(result.shape, shape, f"the shape of the derivative for {name}")


def vjp(target: Target, case: Case, dtype: str, mode: Mode) -> None:
    """Promises 7 and 11: the cotangents are the reference's, at every tie and edge."""
    found = run(target, case, dtype, mode)
    points, g = found.points, found.points.g.astype(np.float64)
    rows = np.isfinite(g)
    finite = np.where(rows, g, 1.0)
    expected = _both(target, points, lambda inputs: reference.vjp(case.op, case.gradient, *inputs, g=finite))
    allowed = slack(case, points, finite)
    for i, (name, got) in enumerate(zip(case.gradient.op.inputs, found.results, strict=True)):
        good = agree(got, [one[i] for one in expected], dtype, ulps(case, dtype), allowed[i]) | ~rows
        good |= _flushed(target, got, expected[0][i], dtype)
        columns = _inputs(points, got.shape) | {"g": g, "got": got, "expected": expected[0][i]}
        message = f"the derivative of {case.id} for {name} is wrong{_allowed(case, dtype)}"
        demand_all(good, message, columns)


def select(target: Target, case: Case, dtype: str, mode: Mode) -> None:
    """Promise 10: an infinite upstream gradient gives 0 where a window is closed."""
    found = run(target, case, dtype, mode)
    points = found.points
    g = points.g.astype(np.float64)
    infinite = np.isinf(g)
    expected = _both(target, points, lambda inputs: reference.vjp(case.op, case.gradient, *inputs, g=g))
    at_one = reference.vjp(case.op, case.gradient, *points.wide(), g=np.where(infinite, 1.0, g))
    for i, (name, got) in enumerate(zip(case.gradient.op.inputs, found.results, strict=True)):
        good = agree(got, [one[i] for one in expected], dtype, 0) | ~infinite
        if case.gradient.rule.kept() is Kind.INPUTS:
            # where the factor is not a normal number of the dtype it may be 0 there, and 0 * inf is NaN
            lost = np.abs(at_one[i]) < limits(widened(dtype)).tiny
            good |= lost & (np.isnan(got) | np.isinf(got)) & (expected[0][i] != 0)
        columns = _inputs(points, got.shape) | {"g": g, "got": got, "expected": expected[0][i]}
        demand_all(
            good, f"the derivative of {case.id} for {name} is wrong at an infinite upstream gradient", columns
        )


def jvp(target: Target, case: Case, dtype: str, mode: Mode) -> None:
    """Promise 6: forward mode gives the same numbers as reverse mode."""
    found = run(target, case, dtype, mode)
    points = found.points
    t = tuple(x.astype(np.float64) for x in tangents(points))
    shown = spread_grid(points)
    expected = _both(target, shown, lambda inputs: (reference.jvp(case.op, case.gradient, *inputs, t=t),))
    allowed = forward_slack(case, shown, t)
    got = found.results[0]
    good = agree(got, [one[0] for one in expected], dtype, ulps(case, dtype), allowed)
    good |= _flushed(target, got, expected[0][0], dtype)
    columns = _inputs(shown, got.shape) | {f"t{i}": v for i, v in enumerate(t)}
    message = f"the tangent of {case.id} is wrong{_allowed(case, dtype)}"
    demand_all(good, message, columns | {"got": got, "expected": expected[0][0]})


def _allowed(case: Case, dtype: str) -> str:
    return f": it must equal the reference's {tolerance(case, dtype)}"


def no_forward_mode(target: Target, case: Case) -> None:
    """Promise 6: a gradient that depends on the upstream gradient refuses forward mode."""
    try:
        run(target, case, target.backend.dtypes[0], FORWARD[0])
    except ForwardModeError:
        return
    raise BrokenPromiseError(
        f"{case.id} depends on the upstream gradient, yet forward mode raised no surrogate.ForwardModeError."
    )


#: Second derivatives: relative to the largest of them at the points.
_SECOND = {"float32": 2e-5, "float64": 1e-12}


def second(target: Target, case: Case, dtype: str, mode: SecondMode) -> None:
    """Promise 7: second derivatives are those of the formula, 0 for a window."""
    points = _second_points(target, case, dtype)
    arity = len(points.inputs)
    wide = points.wide()
    u = np.full(points.g.shape, 0.5)
    given = target.put(*points.inputs, points.g, u.astype(points.g.dtype), np.zeros_like(points.g))
    for i, name in enumerate(case.gradient.op.inputs):
        with target.rules({case.op: case.gradient}):
            found = [target.take(x) for x in mode.prepare(target.driver, target.op(case.op), i)(*given)]
        for j in range(arity):
            along = tuple(u * (j == k) for k in range(arity))
            expected = reference.second(
                case.op, case.gradient, *wide, g=points.g.astype(np.float64), t=along
            )[i]
            got = found[j].astype(np.float64)
            largest = np.max(np.abs(expected[np.isfinite(expected)]), initial=0.0)
            error = np.abs(np.where(np.isfinite(expected), got - expected, 0.0))
            good = (error <= _SECOND[dtype] * largest) & (np.isfinite(got) | ~np.isfinite(expected))
            columns = _inputs(points, got.shape) | {"g": points.g, "got": got, "expected": expected}
            demand_all(
                good,
                f"the second derivative of {case.id}, for {name} by {case.gradient.op.inputs[j]}, is wrong",
                columns,
            )


def product(target: Target, case: Case, dtype: str, mode: SecondMode) -> None:
    """Promise 7, of ``op(x) * x``: its second derivative has the op's own derivative in it, twice."""
    points = _second_points(target, case, dtype)
    x, *rest = points.inputs
    g = points.g.astype(np.float64)
    wide, call = points.wide(), target.op(case.op)
    first = reference.vjp(case.op, case.gradient, *wide, g=g)[0]
    unit = (1.0, *(0.0 for _ in rest))
    bent = reference.second(case.op, case.gradient, *wide, g=g, t=unit)[0]
    expected = 2 * first + wide[0] * bent
    constants = target.put(*rest)
    given = target.put(x, points.g, np.ones_like(points.g), np.zeros_like(points.g))
    with target.rules({case.op: case.gradient}):
        prepared = mode.prepare(target.driver, lambda v: call(v, *constants) * v, 0)
        got = target.take(prepared(*given)[0]).astype(np.float64)
    known = np.isfinite(expected)
    scale = np.max(np.abs(expected[known]), initial=0.0)
    good = ~known | (np.abs(np.where(known, got - expected, 0.0)) <= _SECOND[dtype] * scale)
    columns = _inputs(points, got.shape) | {"g": g, "got": got, "expected": expected}
    demand_all(good, f"the second derivative of {case.op}(x) * x under {case.spec} is wrong", columns)


def _second_points(target: Target, case: Case, dtype: str) -> Grid:
    """Moderate points where the derivative is finite, under upstream gradients that let something through."""
    points = grid(case, dtype).finite()
    first = reference.vjp(case.op, case.gradient, *points.wide(), g=points.g.astype(np.float64))
    moderate = np.all(np.isfinite(first), axis=(0, 1)) & (np.abs(points.wide()[0][0]) <= 100)
    columns = np.flatnonzero(moderate)
    columns = np.resize(columns, len(columns) + -len(columns) % MULTIPLE)  # few different shapes
    pick = np.ix_(np.flatnonzero(points.g[:, 0]), columns)
    chosen = Grid(dtype, tuple(v[pick] for v in points.inputs), points.g[pick])
    return chosen if target.backend.subnormals else chosen.flushed()


def _both(target: Target, points: Grid, evaluate: Any) -> list[tuple[Array, ...]]:
    """The reference's numbers; also those of flushed inputs for a framework that flushes subnormals."""
    found = [evaluate(points.wide())]
    if not target.backend.subnormals:
        found.append(evaluate(points.flushed().wide()))
    return found


def _flushed(target: Target, got: Array, expected: Array, dtype: str) -> Any:
    """Where a subnormal result was flushed to 0, by a framework that says it does that."""
    if target.backend.subnormals:
        return np.zeros(got.shape, bool)
    return (np.abs(expected) <= limits(dtype).tiny) & (got.astype(np.float64) == 0)


def _inputs(points: Grid, shape: tuple[int, ...]) -> dict[str, Array]:
    names = "xyz" if len(points.inputs) < 3 else ("x", "lo", "hi", *map(str, range(3, 9)))
    return {
        name: np.broadcast_to(v if v.shape == shape else v[:1], shape)
        for name, v in zip(names, points.inputs, strict=False)
    }
