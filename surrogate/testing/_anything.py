"""A check for rules that are no ops of the catalogue: native formulas, and whole functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from surrogate._backend import Backend
from surrogate._driver import Driver
from surrogate._override import override
from surrogate._plugins import load_backend
from surrogate.testing._failure import demand, demand_all


def check_rule(
    backend: str | Backend,
    rules: Mapping[Any, Any],
    f: Callable[..., Any],
    inputs: Sequence[Any],
    *,
    g: Any,
    cotangents: Sequence[Any],
    tolerance: float = 0.0,
    forward: bool = False,
) -> None:
    """Check a rule for a native op or a whole function where a user's function meets it.

    The value is the native one bit by bit; the cotangents are those given, eagerly, compiled and under a
    compiled function that was called before; outside of the override everything is native again, and the
    captures were counted.

    Args:
        backend: its name.
        rules: as for :func:`surrogate.override`: the rule, and others that it needs.
        f: a function of the framework's arrays that calls the op or function once, and returns one array.
        inputs: its arguments as NumPy arrays of a floating dtype.
        g: the upstream gradient as a NumPy array.
        cotangents: the right cotangent of each input, worked out by hand; None where it does not matter.
        tolerance: how far, absolutely, a cotangent may be off.
        forward: whether forward mode must give the same too, where the backend claims it; of all
            ``cotangents`` none may be None then.

    Raises:
        BrokenPromiseError: says which of these does not hold, and with which numbers.
    """
    found = load_backend(backend)
    driver = found.driver()
    modes = {"eager": f, **({"compiled": driver.compile(f)} if "compile" in found.transforms else {})}
    captured = 0
    for mode, function in modes.items():
        native = _run(driver, function, inputs, g)
        scope = override(found, dict(rules))
        for _ in range(2):
            with scope:
                value, got = _run(driver, function, inputs, g)
            same = np.asarray(value).tobytes() == np.asarray(native[0]).tobytes()
            demand(same, f"{mode}: the value is not the native one bit by bit")
            for at, (one, right) in enumerate(zip(got, cotangents, strict=True)):
                if right is not None:
                    _compare(f"{mode}: the cotangent of input {at} is wrong", one, right, tolerance)
            after = _run(driver, function, inputs, g)
            for at, (one, right) in enumerate(zip(after[1], native[1], strict=True)):
                _compare(f"{mode}: outside of the override input {at} is not native again", one, right, 0.0)
        captured += sum(scope.hits.values())
    if forward and "forward" in found.transforms:
        with override(found, dict(rules)):
            _forward(driver, f, inputs, g, cotangents, tolerance)
    demand(captured, "no capture was counted")  # of a compiled function, only what was traced anew


def _run(driver: Driver, f: Callable[..., Any], inputs: Sequence[Any], g: Any) -> tuple[Any, list[Any]]:
    arrays = [driver.asarray(np.asarray(x)) for x in inputs]
    value, found = driver.grad(f, arrays, driver.asarray(np.asarray(g)))
    return driver.numpy(value), [driver.numpy(one) for one in found]


def _forward(
    driver: Driver,
    f: Callable[..., Any],
    inputs: Sequence[Any],
    g: Any,
    cotangents: Sequence[Any],
    tolerance: float,
) -> None:
    """Tangents against cotangents: their products with ``g`` and with the inputs' tangents are one number."""
    arrays = [np.asarray(x) for x in inputs]
    tangents = [np.cos(np.arange(1.0, x.size + 1)).reshape(x.shape).astype(x.dtype) for x in arrays]
    _, found = driver.jvp(f, list(map(driver.asarray, arrays)), list(map(driver.asarray, tangents)))
    got = np.asarray(driver.numpy(found), float) * g
    right = [np.multiply(c, t, dtype=float) for c, t in zip(cotangents, tangents, strict=True)]
    size = np.abs(got).sum() + sum(np.abs(part).sum() for part in right)
    near = max(tolerance, float(np.finfo(arrays[0].dtype).eps)) * size
    total = sum(part.sum() for part in right)
    demand(abs(got.sum() - total) <= near, f"forward: g times the tangent is {got.sum()}, not {total}")


def _compare(message: str, got: Any, right: Any, tolerance: float) -> None:
    got, right = np.asarray(got), np.asarray(right)
    demand(got.shape == right.shape, f"{message}: its shape is {got.shape}, not {right.shape}")
    with np.errstate(invalid="ignore"):  # equal infinities are equal below
        near = np.abs(got.astype(float) - right.astype(float)) <= tolerance
    same = (got == right) | (np.isnan(got) & np.isnan(right))
    demand_all(near | same, message, {"got": got, "right": right})
