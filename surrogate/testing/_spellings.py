"""Checks on every way to write an op: the native value, the rule's derivatives, and one capture."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from surrogate import reference
from surrogate._driver import Spelling
from surrogate._listing import op as _op
from surrogate._partial import Kind
from surrogate.testing._cases import Case, cases
from surrogate.testing._compare import agree, bits, ulps
from surrogate.testing._dtypes import numpy_dtype
from surrogate.testing._failure import demand_all, demand_equal
from surrogate.testing._modes import REVERSE, Mode
from surrogate.testing._target import Target

Array = npt.NDArray[Any]

#: Values of the first input, with ties and both sides of every step.
_FIRST = (-2.625, -1.0, -0.375, 0.25, 0.75, 1.0, 2.5)


def spellings(target: Target, op: str, name: str) -> None:
    """A spelling of an op has its native value, the rule's derivatives, and is captured once."""
    spelling, case = _spelling(target, op, name), _telling(op)
    inputs = _inputs(op, spelling, target.usual)
    given = [x for label, x in inputs.items() if label not in spelling.fixed]
    g = np.array([1.0, -2.0, 0.5, 1.0, 3.0, -1.0, 0.25]).astype(numpy_dtype(target.usual))
    native = target.take(spelling(*target.put(*given)))
    with target.rules({op: case.gradient}) as active:
        value, *found = (
            target.take(x)
            for x in REVERSE[0].run(target.driver, spelling.function, target.put(*given), target.put(g))
        )
    demand_all(bits(value) == bits(native), f"the value of {name}", {"got": value, "native": native})
    wide = [x.astype(np.float64) for x in inputs.values()]
    every = reference.vjp(op, case.gradient, *wide, g=g.astype(np.float64), **spelling.attributes)
    expected = {label: e for label, e in zip(inputs, every, strict=True) if label not in spelling.fixed}
    for (label, right), got in zip(expected.items(), found, strict=True):
        good = agree(got, [right], target.usual, _ULPS * ulps(case, target.usual))
        demand_all(good, f"the derivative of {name} for {label}", {"got": got, "expected": right})
    demand_equal(active.hits[op], 1, f"hits after one call of {name}")


def together(target: Target, ops: tuple[str, ...], mode: Mode) -> None:
    """All spellings of all ops in one function, compiled or in forward mode: each obeys."""
    rows = [(op, name) for op in ops for name in _of_all_inputs(target, op)]
    rules, kind = {op: _telling(op) for op in ops}, target.usual
    arguments = [list(_inputs(op, Spelling(_nothing), kind).values()) for op, _ in rows]
    functions = [_spelling(target, op, name).function for op, name in rows]

    def every(*xs: Any) -> Any:
        left, total = iter(xs), None
        for function, own in zip(functions, arguments, strict=True):
            y = function(*(next(left) for _ in own))
            total = y if total is None else total + y
        return total

    inputs = [x for own in arguments for x in own]
    ones, forward = np.ones_like(inputs[0]), "forward" in mode.needs
    # forward mode gives one number for all: by the first input of each
    firsts = [ones if x is own[0] else np.zeros_like(x) for own in arguments for x in own]
    given = target.put(*(firsts if forward else [ones]))
    with target.rules({op: case.gradient for op, case in rules.items()}):
        _, *found = (target.take(x) for x in mode.run(target.driver, every, target.put(*inputs), given))
    left, slopes = iter(found), []
    for (op, name), own in zip(rows, arguments, strict=True):
        wide = [x.astype(np.float64) for x in own]
        right = reference.vjp(op, rules[op].gradient, *wide, g=ones.astype(np.float64))
        slopes.append(right[0])
        for expected in () if forward else right:
            got = next(left)
            good = agree(got, [expected], kind, _ULPS * ulps(rules[op], kind))
            demand_all(good, f"the derivative of {name} for {op}", {"got": got, "expected": expected})
    if forward:
        # a spelling that is left out, or counted twice, is off by much more than rounding is
        columns = {"got": found[0], "expected": np.sum(slopes, axis=0)}
        good = np.isclose(columns["got"], columns["expected"], rtol=1e-5, atol=1e-3)
        demand_all(good, "the sum of the derivatives of all spellings", columns)


def _of_all_inputs(target: Target, op: str) -> list[str]:
    """The spellings that leave all inputs to their caller."""
    every = target.driver.spellings(op)
    return [name for name, one in every.items() if not isinstance(one, Spelling)]


def _nothing(*inputs: Any) -> None:
    """Stands for a spelling that says nothing by itself."""


#: An op at scaled inputs, and what a framework does with numbers, rounds once or twice more.
_ULPS = 4


def _spelling(target: Target, op: str, name: str) -> Spelling:
    found = target.driver.spellings(op)[name]
    return found if isinstance(found, Spelling) else Spelling(found)


def _telling(op: str) -> Case:
    """A gradient that tells one input from another, if the op has such a one."""
    main = [case for case in cases(op) if case.main and not case.gradient.upstream]
    return next((case for case in main if case.gradient.rule.kept() is Kind.INPUTS), main[0])


def _inputs(op: str, spelling: Spelling, dtype: str) -> dict[str, Array]:
    """An array for each input; a fixed one has the number that the spelling says."""
    known = _op(op)
    every_row = known.samples.rows(known.arity)
    rows = [
        row for row in every_row if all(np.isfinite(row)) and all(row)
    ] or every_row  # sums must be finite
    columns = zip(*(rows[i % len(rows)] for i in range(len(_FIRST))), strict=True)
    every = dict(zip(known.inputs, [_FIRST, *columns], strict=True))
    every |= {label: (value,) * len(_FIRST) for label, value in spelling.fixed.items()}
    return {label: np.array(values).astype(numpy_dtype(dtype)) for label, values in every.items()}
