"""Checks on what is refused, said, counted and kept: errors, warnings, hits, memory."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import surrogate
from surrogate._partial import Kind
from surrogate.testing._cases import Case
from surrogate.testing._dtypes import DTYPES, numpy_dtype
from surrogate.testing._failure import BrokenPromiseError, Inapplicable, demand, demand_equal
from surrogate.testing._modes import Mode
from surrogate.testing._operands import NUMBERS, Operands
from surrogate.testing._target import Target


def errors(target: Target) -> None:
    """Promise 12: wrong input raises our own error before anything is installed."""
    meter, backend = target.meter, target.backend
    wrong: tuple[tuple[Any, type[Exception]], ...] = (
        ({"sgin": "identity"}, surrogate.UnknownOpError),
        ({meter.op: "hardtahn"}, surrogate.UnknownGradientError),
        ({meter.op: "identity(width=1)"}, surrogate.UnknownParameterError),
        ({meter.op: "identity("}, surrogate.SpecError),
        ({meter.op: 3}, surrogate.SurrogateError),
        ({meter.op: lambda xp, x, *rest: 1.0}, surrogate.FormulaError),
        ([meter.op], surrogate.SpecError),
        ({meter.op: "identity", "sgin": "identity"}, surrogate.UnknownOpError),
    )
    for make in (surrogate.use, surrogate.override):
        for rules, kind in wrong:
            _raises(partial(make, backend, rules), kind, f"{make.__name__}(..., {rules!r})")
    demand_equal(dict(backend.state().rules), {}, "the rules in force after refused ones")
    meter.expect(meter.native, "after refused rules")
    with surrogate.override(backend, meter.rules(2.0)):
        meter.expect(2.0, "in an override after refused ones")


def unsupported(target: Target, op: str) -> None:
    """Promise 12: an op the backend cannot do is refused at ``use()``, with the reason."""
    backend = target.backend
    try:
        surrogate.use(backend, {op: lambda xp, x: 2.0}).undo()
    except surrogate.UnsupportedOpError as error:
        reason = backend.unsupported.get(op)
        demand(reason is None or reason in str(error), f"the reason is not in the message: {error}")
        return
    raise BrokenPromiseError(f"use() took {op}, which the backend does not list in its ops.")


#: What a claim needs beside grad.
_METHODS = {
    "forward": "jvp",
    "vmap": "vmap",
    "compile": "compile",
    "residuals": "residuals",
    "discrete": "consumers",
}


def declared(target: Target) -> None:
    """What the class says of itself is well formed."""
    backend = target.backend
    demand(isinstance(getattr(backend, "framework", None), str), "framework is not set.")
    demand(backend.ops, "ops is empty.")
    for op in (*backend.ops, *backend.unsupported):
        demand(op in surrogate.ops(), f"{op!r} is no known op.")
    both = sorted(set(backend.unsupported) & set(backend.ops))
    demand(not both, f"{both} are in ops and in unsupported.")
    known = {*_METHODS, "second", "learned"}
    odd = sorted(set(backend.transforms) - known)
    demand(not odd, f"transforms has {odd}, which the kit does not know; it knows {sorted(known)}.")
    for claim, method in _METHODS.items():
        own = getattr(type(target.driver), method) is not getattr(surrogate.Driver, method)
        demand(
            own or claim not in backend.transforms,
            f"transforms claims {claim!r} without a method {method}() of the driver.",
        )
    odd = [dtype for dtype in backend.dtypes if dtype not in DTYPES]
    demand(backend.dtypes and not odd, f"dtypes is {backend.dtypes!r}; the kit knows {', '.join(DTYPES)}.")
    missing = [name for name in surrogate._numpy.__all__ if not hasattr(backend.xp, name)]
    demand(not missing, f"xp lacks {missing}.")


def hits(target: Target) -> None:
    """Promise 12: captures are counted, and an override that captured nothing warns when it ends."""
    meter = target.meter
    with surrogate.override(target.backend, meter.rules(101.0)) as inner:
        meter.read()
        demand(
            inner.hits[meter.op] >= 1, f"hits is {dict(inner.hits)} after {meter.op} ran under a gradient."
        )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with surrogate.override(target.backend, meter.rules(103.0)):
            pass
    found = [w for w in caught if issubclass(w.category, surrogate.NothingCapturedWarning)]
    demand(found, "an override that captured nothing did not warn.")
    demand(meter.op in str(found[0].message), f"the warning does not name {meter.op}: {found[0].message}")


def hits_once(target: Target, mode: Mode) -> None:
    """Promise 12: an op that runs once under a gradient is counted once."""
    wrong = {}
    for op in _floating(target):
        inputs, ones = _one_of_each(target, op)
        given = ones if "forward" in mode.needs else ones[:1]
        with target.rules({op: _twice}) as active:
            mode.run(target.driver, target.op(op), inputs, given)
        if active.hits[op] != 1:
            wrong[op] = active.hits[op]
    demand_equal(wrong, {}, "hits after one call under a gradient, where they are not 1")


def hits_unrecorded(target: Target) -> None:
    """Promise 12: an op that runs while no gradient is recorded is not counted."""
    wrong = {}
    for op in _floating(target):
        inputs, _ = _one_of_each(target, op)
        with target.rules({op: _twice}) as active:
            target.driver.call(op, *inputs)
        if active.hits[op]:
            wrong[op] = active.hits[op]
    demand_equal(wrong, {}, "hits after a call without a gradient, where they are not 0")


def _floating(target: Target) -> list[str]:
    """The backend's ops that give floats."""
    return sorted(op for op in target.backend.ops if surrogate.op(op).output == "float")


def _twice(xp: Any, x: Any) -> float:
    return 2.0


def _one_of_each(target: Target, op: str) -> tuple[list[Any], list[Any]]:
    """One float for each input of the op, and ones of the same shapes."""
    kind = numpy_dtype(target.usual)
    known = surrogate.op(op)
    numbers = (0.25, *known.samples.rows(known.arity)[0])
    inputs = target.put(*(np.array([number], kind) for number in numbers))
    return inputs, target.put(*(np.ones(1, kind) for _ in numbers))


def residuals(target: Target, case: Case, dtype: str) -> None:
    """Promise 9: nothing is kept for a constant, one byte per element for a window, else the inputs."""
    arity = case.gradient.op.arity
    _keeps(target, case, dtype, (None,) * arity, case.id)


def residuals_number(target: Target, case: Case, dtype: str) -> None:
    """Promise 9: nothing is kept of an operand that carries no gradient."""
    op = case.gradient.op
    operands = NUMBERS[op.arity]["number"]
    written = ", ".join(name if v is None else repr(v) for name, v in zip(op.inputs, operands, strict=True))
    _keeps(target, case, dtype, operands, f"{case.id} in {op.name}({written})")


def keeps_inputs_beside_numbers(case: Case) -> bool:
    """Whether, beside Python numbers, the inputs are kept: then a number may count as an array or not."""
    operands = NUMBERS[case.gradient.op.arity]["number"]
    return case.gradient.rule.kept([v is None for v in operands]) is Kind.INPUTS


def _keeps(target: Target, case: Case, dtype: str, operands: Operands, what: str) -> None:
    n, kind, rule = 256, numpy_dtype(dtype), case.gradient.rule
    rows = ((-1.5, -0.5, 0.25, 2.0), (3.0, -0.25, 0.5, -3.0), (4.0, 4.0, 5.0, 6.0))
    every = [
        np.tile(np.array(row), n // 4).astype(kind) if given is None else given
        for row, given in zip(rows, operands, strict=False)
    ]
    needs = [given is None for given in operands]
    given = target.put(*(np.asarray(x) for x, need in zip(every, needs, strict=True) if need))
    expected = sum(np.asarray(x).nbytes for x in rule.save(surrogate._numpy, every, needs))
    call = target.op(case.op)

    def function(*arrays: Any) -> Any:
        left = iter(arrays)
        return call(*(next(left) if need else x for x, need in zip(every, needs, strict=True)))

    try:
        function(*given)
    except Exception as error:
        raise Inapplicable(f"the framework takes no such numbers: {type(error).__name__}: {error}") from error

    gc.freeze()  # a backend may have to search the heap for what is kept: what is there already is not
    try:
        with target.rules({case.op: case.gradient}):
            got = target.driver.residuals(function, given)
    finally:
        gc.unfreeze()
    kept = {Kind.CONSTANT: "nothing", Kind.MASK: "masks of one byte", Kind.INPUTS: "its inputs"}
    words = f"bytes kept by {what} for {n} elements of {dtype}; it should keep {kept[rule.kept(needs)]}"
    demand_equal(got, expected, words)


def _raises(call: Callable[[], object], kind: type[Exception], what: str) -> None:
    try:
        call()
    except kind as error:
        demand(str(error), f"{what} raised {kind.__name__} without a message.")
        return
    except Exception as error:
        raise BrokenPromiseError(
            f"{what} raised {type(error).__name__}, not {kind.__name__}: {error}"
        ) from error
    raise BrokenPromiseError(f"{what} raised nothing; {kind.__name__} was due.")
