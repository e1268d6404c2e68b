"""Which checks a backend gets: every promise for every op, gradient, dtype and mode it claims."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surrogate import reference
from surrogate._backend import Backend
from surrogate._errors import NothingCapturedWarning
from surrogate._listing import op as op_of, ops
from surrogate.testing import (
    _compiled,
    _contract,
    _converting,
    _learned,
    _namespace,
    _operands,
    _origins,
    _parameters,
    _scope,
    _shapes,
    _spellings,
    _values,
)
from surrogate.testing._cases import Case, cases
from surrogate.testing._modes import FORWARD, REVERSE, SECOND, Mode, SecondMode
from surrogate.testing._target import Target
from surrogate.testing._uses import done_with

#: What a backend may claim, and what each means.
CLAIMS = {
    "forward": "forward mode",
    "vmap": "mapping over a new axis",
    "compile": "compiled functions",
    "second": "second derivatives",
    "residuals": "measuring what is kept for backward",
    "learned": "parameters of a gradient that are learned",
    "discrete": "booleans and integers that keep their origin",
}


@dataclass(frozen=True)
class Check:
    """One promise at one place, ready to run.

    Attributes:
        promise: which promise: the name of the check function, and of the test method.
        name: where: ``sign:hardtanh-float32-jit``.
        function: the check itself: takes a target and :attr:`arguments`, raises when the promise is broken.
        op, gradient, dtype, mode: the same place in parts; empty where it does not apply.
    """

    promise: str
    name: str
    function: Callable[..., None]
    arguments: tuple[Any, ...]
    op: str = ""
    gradient: str = ""
    dtype: str = ""
    mode: str = ""

    @property
    def id(self) -> str:
        """``vjp[sign:hardtanh-float32-jit]``."""
        return f"{self.promise}[{self.name}]"

    def __call__(self, target: Target) -> None:
        """Run it.

        Raises:
            BrokenPromiseError: the promise is broken; with the failing numbers.
        """
        with np.errstate(all="ignore"), warnings.catch_warnings():  # the points are chosen to overflow
            # that an override captured nothing is for the numbers to show, and for contract[hits]
            warnings.simplefilter("ignore", NothingCapturedWarning)
            _ = target.meter  # it must see the framework native
            self.function(target, *self.arguments)


def plan(backend: Backend) -> list[Check]:
    """All checks of a backend, in the order in which they should be read."""
    return [
        Check("contract", "declared", _contract.declared, ()),
        *_namespace_checks(backend),
        *_values_checks(backend),
        *_shape_checks(backend),
        *_operand_checks(backend),
        *_parameter_checks(backend),
        *_memory_checks(backend),
        *_spelling_checks(backend),
        *_origin_checks(backend),
        *_composite_checks(backend),
        *(Check("scope", _dashed(f), f, ()) for f in _scope.SCOPE),
        *_compiled_checks(backend),
        Check("contract", "errors", _contract.errors, ()),
        Check("contract", "hits", _contract.hits, ()),
        *(
            Check("contract", f"hits-once-{mode.name}", _contract.hits_once, (mode,), mode=mode.name)
            for mode in _claimed(backend, (REVERSE[0], FORWARD[0]))
        ),
        Check("contract", "hits-unrecorded", _contract.hits_unrecorded, ()),
        *(
            Check("unsupported", op, _contract.unsupported, (op,), op=op)
            for op in ops()
            if op not in backend.ops
        ),
    ]


def not_claimed(backend: Backend) -> list[str]:
    """What the backend does not claim, so that nothing of it was checked."""
    return [claim for claim in CLAIMS if claim not in backend.transforms]


def supported(backend: Backend) -> list[str]:
    """The backend's ops in the catalogue's order."""
    return [op for op in ops() if op in backend.ops and op_of(op).output == "float"]


def _claimed(backend: Backend, modes: Iterable[Any]) -> list[Any]:
    return [mode for mode in modes if mode.needs <= backend.transforms]


def _values_checks(backend: Backend) -> Iterator[Check]:
    for op in supported(backend):
        every = cases(op)
        for mode in _claimed(backend, REVERSE):
            for case, dtype in _chosen(backend, every, mode):
                for check in (_values.value, _values.dtype, _values.vjp, _values.select):
                    yield _at(check, case, dtype, mode)
        for mode in _claimed(backend, FORWARD):
            for case, dtype in _chosen(backend, every, mode):
                if not case.gradient.upstream:
                    for check in (_values.value, _values.dtype, _values.jvp):
                        yield _at(check, case, dtype, mode)
                elif mode is FORWARD[0] and dtype == backend.dtypes[0]:
                    yield Check(
                        "no_forward_mode",
                        case.id,
                        _values.no_forward_mode,
                        (case,),
                        op=op,
                        gradient=case.spec,
                        mode=mode.name,
                    )
        yield from _second_checks(backend, every)


def _chosen(backend: Backend, every: list[Case], mode: Mode) -> Iterator[tuple[Case, str]]:
    """Everything in eager modes; where a call compiles or maps, what makes a difference there."""
    main = [case for case in every if case.main]
    first = _usual(backend)
    if not mode.needs & {"compile", "vmap"}:
        yield from ((case, dtype) for case in main for dtype in backend.dtypes)
        yield from ((case, first) for case in every if not case.main)
    elif mode.name in ("jit", "vmap", "forward_of_jit"):
        yield from ((case, first) for case in main)
        yield from ((main[0], dtype) for dtype in backend.dtypes if dtype != first)
    else:
        yield from ((case, first) for case in _kinds(main))


def _kinds(main: list[Case]) -> list[Case]:
    """One case of each kind: constant, mask, float formula, upstream."""
    found = {(case.gradient.rule.kept(), case.gradient.upstream): case for case in reversed(main)}
    return [case for case in main if case in found.values()]


def _second_checks(backend: Backend, every: list[Case]) -> Iterator[Check]:
    exact = next((dtype for dtype in ("float64", "float32") if dtype in backend.dtypes), None)
    plain = [case for case in every if case.main and not case.gradient.upstream]
    if exact is None:
        return
    for mode in _claimed(backend, SECOND):
        chosen = plain if mode is SECOND[0] else _kinds(plain)
        for case in chosen:
            yield _at(_values.second, case, exact, mode)
            if case.gradient.op.arity == 1:
                yield _at(_values.product, case, exact, mode)


#: The shapes that tell most, where not all are tried.
_FEW = ("scalar", "matrix", "matrix_vector")


def _namespace_checks(backend: Backend) -> Iterator[Check]:
    if backend.xp is reference.xp:
        return  # the judge itself, over arrays of its own
    for name in _namespace.NAMES:
        yield Check("namespace", name, _namespace.names_value, (name,))
        if "second" in backend.transforms and _namespace.differentiable(name):
            yield Check("namespace", f"{name}-derivative", _namespace.names_derivative, (name,))


def _shape_checks(backend: Backend) -> Iterator[Check]:
    eager, compiled = REVERSE[:2]
    for op in supported(backend):
        every = [case for case in cases(op) if case.main]
        names = _shapes.UNARY if op_of(op).arity == 1 else tuple(_shapes.SHAPES)
        for case in _kinds(every):
            for name in names:
                if case is every[0] or name in _FEW:
                    yield _at(_shapes.shapes, case, _usual(backend), eager, name)
                if case is every[0] and name in _FEW and compiled.needs <= backend.transforms:
                    yield _at(_shapes.shapes, case, _usual(backend), compiled, name)
            if op_of(op).arity > 1:
                for mode in _claimed(backend, REVERSE if case.gradient.upstream else (*REVERSE, *FORWARD)):
                    yield _at(_shapes.closed_over, case, _usual(backend), mode)
            if "decimals" in op_of(op).attributes:
                for places in (2, -1):
                    yield _at(_shapes.decimals, case, _usual(backend), eager, places)
        for kind in _shapes.INTEGERS:
            yield Check("integers", f"{op}-{kind}", _shapes.integers, (op, kind), op=op, dtype=kind)


def _spelling_checks(backend: Backend) -> Iterator[Check]:
    driver = backend.driver()
    for op in supported(backend):
        for name in driver.spellings(op):
            yield Check("spellings", f"{op}-{name}", _spellings.spellings, (op, name), op=op)
    ops = tuple(supported(backend))
    for mode in _claimed(backend, (*REVERSE[1:3], FORWARD[0])):
        yield Check("spellings", f"together-{mode.name}", _spellings.together, (ops, mode), mode=mode.name)


def _origin_checks(backend: Backend) -> Iterator[Check]:
    if "discrete" not in backend.transforms:
        return
    driver, dtype = backend.driver(), _origins.exact(backend)
    every = _origins.producers([op for op in ops() if op in backend.ops])
    main = list({producer.kind: producer for producer in reversed(every)}.values())

    def at(function: Callable[..., None], producer: Any, name: str, mode: Mode, *more: Any) -> Check:
        arguments = producer, *more
        return Check("origins", name, function, arguments, op=producer.op, dtype=dtype, mode=mode.name)

    eager = REVERSE[0]
    for producer in every:
        for case in cases(producer.op):
            name = f"{producer.id}:{case.spec}-{eager.name}"
            yield replace(at(_origins.gradient, producer, name, eager, case), gradient=case.spec)
        for mode in _claimed(backend, (*REVERSE, *FORWARD)):
            some = _origins.SOME[producer.kind] if mode is eager else ()
            uses = done_with(producer.kind) if producer in main else some
            for use in uses if "compile" not in mode.needs else ():
                yield at(_origins.use, producer, f"{producer.id}-{use}-{mode.name}", mode, use, mode)
    for op in dict.fromkeys(producer.op for producer in every):
        for written in driver.spellings(op):
            name = f"{op}-{written}"
            yield Check("origins", name, _origins.spelling, (op, written), op=op, dtype=dtype)
    for mode in _claimed(backend, (*REVERSE[1:3], FORWARD[1])):
        name = f"together-{mode.name}"
        yield Check("origins", name, _origins.together, (tuple(main), mode), dtype=dtype, mode=mode.name)


def _operand_checks(backend: Backend) -> Iterator[Check]:
    dtype = _usual(backend)
    for op in supported(backend):
        arity = op_of(op).arity
        if op_of(op).output == "float":
            for position in range(arity):
                name = f"{op}-converting-{op_of(op).inputs[position]}"
                yield Check("value", name, _converting.converting, (op, position), op=op, dtype=dtype)
        if arity == 1:
            continue
        for mode in _claimed(backend, (REVERSE[0], FORWARD[0])):
            place = {"op": op, "dtype": dtype, "mode": mode.name}
            tail = f"{dtype}-{mode.name}"
            yield Check("shapes", f"{op}-same-{tail}", _operands.same, (op, dtype, mode), **place)
            for name in _operands.NUMBERS[arity]:
                given = op, name, dtype, mode
                yield Check("closed_over", f"{op}-{name}-{tail}", _operands.number, given, **place)


def _parameter_checks(backend: Backend) -> Iterator[Check]:
    if _parameters.unary(backend.ops) is None:
        return
    for formula in _parameters.FORMULAS:
        for mode in _claimed(backend, (*REVERSE, *FORWARD)):
            for kind in _parameters.ARRAYS:
                name = f"{kind}-{formula}-{mode.name}"
                yield Check("parameters", name, _parameters.array, (kind, formula, mode), mode=mode.name)
            name = f"variable-{formula}-{mode.name}"
            yield Check("parameters", name, _parameters.variable, (formula, mode), mode=mode.name)
        yield Check("parameters", f"changed-{formula}", _parameters.variable_changed, (formula,))
    if "learned" in backend.transforms:
        yield from _learned_checks(backend)


def _learned_checks(backend: Backend) -> Iterator[Check]:
    for formula in _learned.FORMULAS:
        for shape in _learned.SHAPES:
            for mode in _claimed(backend, (*REVERSE, *FORWARD)):
                if shape == "element" and "vmap" in mode.needs:
                    continue  # a row is mapped, which has three elements
                name, given = f"learned-{shape}-{formula}-{mode.name}", (shape, formula, mode)
                yield Check("parameters", name, _learned.inside, given, mode=mode.name)
            if "compile" in backend.transforms:
                name = f"learned-{shape}-{formula}-around_jit"
                yield Check("parameters", name, _learned.around, (shape, formula))


def _memory_checks(backend: Backend) -> Iterator[Check]:
    if "residuals" not in backend.transforms:
        return
    dtype = _usual(backend)
    for op in supported(backend):
        for case in cases(op):
            if not case.main:
                continue
            place = {"op": op, "gradient": case.spec, "dtype": dtype}
            given, name = (case, dtype), f"{case.id}-{dtype}"
            yield Check("residuals", name, _contract.residuals, given, **place)
            if op_of(op).arity > 1 and not _contract.keeps_inputs_beside_numbers(case):
                yield Check("residuals", f"{name}-number", _contract.residuals_number, given, **place)


def _composite_checks(backend: Backend) -> Iterator[Check]:
    for mode in _claimed(backend, SECOND[:3]):
        yield Check("composites", f"formula-{mode.name}", _scope.formula_is_native, (mode,), mode=mode.name)


def _compiled_checks(backend: Backend) -> Iterator[Check]:
    modes = [mode for mode in _claimed(backend, REVERSE) if "compile" in mode.needs]
    for mode in modes:
        for check in (_compiled.off_on_off, _compiled.on_off_on, _compiled.compiled_once):
            yield Check("compiled", f"{_dashed(check)}-{mode.name}", check, (mode,), mode=mode.name)


def _usual(backend: Backend) -> str:
    return "float32" if "float32" in backend.dtypes else backend.dtypes[0]


def _at(
    check: Callable[..., None], case: Case, dtype: str, mode: Mode | SecondMode, *more: str | int
) -> Check:
    name = "-".join((case.id, dtype, *map(str, more), mode.name))
    return Check(
        check.__name__,
        name,
        check,
        (case, dtype, *more, mode),
        op=case.op,
        gradient=case.spec,
        dtype=dtype,
        mode=mode.name,
    )


def _dashed(check: Callable[..., None]) -> str:
    return check.__name__.replace("_", "-")
