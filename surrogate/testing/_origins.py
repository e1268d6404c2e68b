"""Checks on booleans and integers that keep their origin: what gives them, and what is done with them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from surrogate import reference
from surrogate._backend import Backend
from surrogate._driver import Spelling
from surrogate._listing import op as _op
from surrogate._partial import Kind
from surrogate.testing._cases import Case, cases
from surrogate.testing._compare import bits
from surrogate.testing._failure import Inapplicable, demand_all, demand_equal
from surrogate.testing._modes import REVERSE, Mode
from surrogate.testing._target import Target
from surrogate.testing._uses import MASK, Beside, done_with, jacobian

Array = npt.NDArray[Any]

_X = np.array([[-1.5, 0.25, 0.0], [1.25, -0.5, 2.0]])
_U = np.array([[0.5, -1.0, 2.0], [3.0, 0.25, -0.5]])
_V = np.array([[1.0, 0.5, -2.0], [-0.25, 1.5, 0.75]])
_TABLE = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75], [-2.0, 1.0, 0.125]])
_G = np.array([[1.0, -2.0, 0.5], [3.0, -1.0, 0.25]])
#: Beside x: equal to it twice, and on both sides of it.
_BESIDE = {"y": np.array([[-1.0, 0.25, 0.5], [0.5, -0.75, 2.0]]), "boundaries": np.array([-1.0, 0.5, 1.0])}


#: What is done with the value of every op, by its kind; with that of the first of a kind everything is.
SOME = {"boolean": ("sum", "where", "not"), "integer": ("sum", "integer arithmetic"), "index": ("table",)}


@dataclass(frozen=True)
class Producer:
    """An op that gives booleans or integers, with the attributes that it is tried with.

    Attributes:
        op: its name.
        kind: what it gives: ``"boolean"``, ``"integer"``, or an ``"index"`` along an axis.
        attributes: static arguments.
    """

    op: str
    kind: str
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """As in a check's name."""
        return "-".join((self.op, *(str(v) for k, v in self.attributes.items() if k == "to")))

    def inputs(self) -> list[Array]:
        """What it is called with."""
        return [_X, *(_BESIDE[name] for name in _op(self.op).inputs[1:])]


def producers(ops: Sequence[str]) -> list[Producer]:
    """The producers among these ops; of each kind the first is the one that is tried with everything."""
    found = []
    for op in ops:
        known = _op(op)
        if known.one_hot:
            found.append(Producer(op, "index", {"axis": 1}))
        elif known.output != "float":
            found.append(Producer(op, "boolean" if known.output == "bool" else "integer"))
        if "to" in known.attributes:
            found.append(Producer(op, "boolean", {"to": "bool"}))
    return found


def telling(producer: Producer) -> Case:
    """A gradient that depends on the inputs, so that an operand that was mistaken shows."""
    found = [case for case in cases(producer.op) if case.main and not case.gradient.upstream]
    if producer.attributes.get("to") == "bool":  # the gradients of trunc are zero there
        found = [case for case in found if case.spec in {c.spec for c in cases("not_equal")}]
    smooth = (case for case in found if case.gradient.at(**producer.attributes).kept() is Kind.INPUTS)
    return next(smooth, found[0])


def exact(backend: Backend) -> str:
    """The dtype of these checks: in float64 they are held to 1e-12."""
    usual = "float32" if "float32" in backend.dtypes else backend.dtypes[0]
    return "float64" if "float64" in backend.dtypes else usual


def gradient(target: Target, producer: Producer, case: Case) -> None:
    """A gradient reaches the op's inputs from its value as a float: the reference's."""
    use = "number" if producer.kind == "index" else "cast"
    _check(target, producer, case, use, _first(target, use), REVERSE[0])


def spelling(target: Target, op: str, name: str) -> None:
    """Each way to write the op leaves an origin, once."""
    every = target.driver.spellings(op)
    written, usual = every[name], producers([op])[0]
    own = written if isinstance(written, Spelling) else Spelling(written)
    given = dict(own.attributes) or usual.attributes
    kind = "boolean" if given.get("to") == "bool" else usual.kind
    producer = Producer(op, kind, given)
    # the first takes attributes, another says them by itself
    call = functools.partial(own.function, **given) if name == next(iter(every)) else own.function
    use = "number" if kind == "index" else "cast"
    _check(target, producer, telling(producer), use, _first(target, use), REVERSE[0], call)


def use(target: Target, producer: Producer, name: str, mode: Mode) -> None:
    """What is done with the value, in each way to write it, has the derivatives of the same on floats."""
    ways = list(target.driver.consumers().get(name, {}).items())
    if not ways:
        raise Inapplicable(f"the driver has no way to write {name!r}")
    for written, function in ways if mode is REVERSE[0] else ways[:1]:
        _check(target, producer, telling(producer), name, (written, function), mode)


def together(target: Target, every: Sequence[Producer], mode: Mode) -> None:
    """Every use of every kind of value, all in one function: as each alone."""
    ways = target.driver.consumers()
    chosen = {name: producer for producer in every for name in done_with(producer.kind) if name in ways}
    calls = [_Call(target, producer, telling(producer), name) for name, producer in chosen.items()]
    functions = [call.function(next(iter(ways[call.name].values()))) for call in calls]
    inputs = [x for call in calls for x in call.inputs(False)]
    counts = [len(call.inputs(False)) for call in calls]

    def total(*xs: Any) -> Any:
        left, found = iter(xs), None
        for function, count in zip(functions, counts, strict=True):
            y = function(*(next(left) for _ in range(count)))
            found = y if found is None else found + y
        return found

    dtype = calls[0].dtype
    given = [np.ones_like(x) for x in inputs] if "forward" in mode.needs else [calls[0].upstream(False)]
    with target.rules({call.case.op: call.case.gradient for call in calls}):
        _, *found = mode.run(target.driver, total, target.put(*inputs), target.put(*given))
    taken = [target.take(x) for x in found]
    if "forward" in mode.needs:
        expected = sum(call.tangent(False) for call in calls)
        _compare(taken[0], np.asarray(expected), dtype, "the sum of the tangents of all uses")
        return
    left = iter(taken)
    for call in calls:
        for label, right in call.cotangents(False):
            what = f"the derivative of {call.name} of {call.producer.id} for {label}"
            _compare(next(left), right, dtype, what)


class _Call:
    """One producer with one use: the function of floats, and its derivatives by the reference."""

    def __init__(self, target: Target, producer: Producer, case: Case, name: str) -> None:
        self.target, self.producer, self.case, self.name = target, producer, case, name
        self.dtype = exact(target.backend)
        self._own = producer.inputs()

    def function(self, way: Callable[..., Any], op: Callable[..., Any] | None = None) -> Callable[..., Any]:
        """The use of the op's value, as a function of all floats."""
        driver, arity = self.target.driver, len(self._own)
        attributes = {} if op else self.producer.attributes
        mask = self.target.put(MASK)[0]
        call = op or (lambda *xs, **named: driver.call(self.producer.op, *xs, **named))

        def whole(*xs: Any) -> Any:
            u, v, table = xs[arity:]
            return way(call(*xs[:arity], **attributes), Beside(u, v, table, mask))

        return whole

    def inputs(self, mapped: bool) -> list[Array]:
        """The floats; where they are mapped, two rows of each."""
        plain = [x.astype(self.dtype) for x in (*self._own, _U, _V, _TABLE)]
        return [np.stack([x, self._other(x)]) for x in plain] if mapped else plain

    def upstream(self, mapped: bool) -> Array:
        """The upstream gradient."""
        g = _G.astype(self.dtype)
        return np.stack([g, g[::-1]]) if mapped else g

    def _other(self, x: Array) -> Array:
        return x + 0.125 if x.ndim == 1 else x[::-1]

    def cotangents(self, mapped: bool) -> list[tuple[str, Array]]:
        """Label and cotangent of each float."""
        labels = (*_op(self.producer.op).inputs, "u", "v", "table")
        rows = self._rows(mapped)
        g = self.upstream(True) if mapped else [self.upstream(False)]
        found = [self._pulled(row, one) for row, one in zip(rows, g, strict=True)]
        columns = [np.stack(parts) if mapped else parts[0] for parts in zip(*found, strict=True)]
        return list(zip(labels, columns, strict=True))

    def tangent(self, mapped: bool) -> Array:
        """The tangent of the result where every float moves by one."""
        found = [self._pushed(row).reshape(_G.shape) for row in self._rows(mapped)]
        return np.stack(found) if mapped else found[0]

    def _rows(self, mapped: bool) -> list[list[Array]]:
        every = self.inputs(mapped)
        return [[x[i] for x in every] for i in range(2)] if mapped else [every]

    def _derivatives(self, row: Sequence[Array]) -> tuple[list[Array], Array]:
        own, rest = row[: len(self._own)], [x.astype(np.float64) for x in row[len(self._own) :]]
        value = reference.forward(self.producer.op, *own, **self.producer.attributes)
        if self._one_hot:
            value = value[:, None] == np.arange(3)
        operands = [value.astype(np.float64), *rest]
        return operands, jacobian(self.name, operands)

    @property
    def _one_hot(self) -> bool:
        return self.producer.kind == "index"

    def _pulled(self, row: Sequence[Array], g: Array) -> list[Array]:
        operands, by = self._derivatives(row)
        ends = np.cumsum([x.size for x in operands])[:-1]
        parts = np.split(g.ravel().astype(np.float64) @ by, ends)
        twin, *others = [part.reshape(x.shape) for part, x in zip(parts, operands, strict=True)]
        own = reference.vjp(
            self.producer.op,
            self.case.gradient,
            *row[: len(self._own)],
            g=twin,
            **self._named(),
        )
        return [*own, *others]

    def _pushed(self, row: Sequence[Array]) -> Array:
        operands, by = self._derivatives(row)
        moved = reference.jvp(
            self.producer.op, self.case.gradient, *row[: len(self._own)], t=1.0, **self._named()
        )
        return np.asarray(by @ np.concatenate([moved.ravel(), *(np.ones(x.size) for x in operands[1:])]))

    def _named(self) -> dict[str, Any]:
        return {**self.producer.attributes, **({"one_hot": True} if self._one_hot else {})}


def _check(
    target: Target,
    producer: Producer,
    case: Case,
    name: str,
    way: tuple[str, Callable[..., Any]],
    mode: Mode,
    op: Callable[..., Any] | None = None,
) -> None:
    written, function = way
    call = _Call(target, producer, case, name)
    mapped, forward = "vmap" in mode.needs, "forward" in mode.needs
    whole, inputs = call.function(function, op), call.inputs(mapped)
    given = [np.ones_like(x) for x in inputs] if forward else [call.upstream(mapped)]

    def run() -> list[Array]:
        return [
            target.take(x) for x in mode.run(target.driver, whole, target.put(*inputs), target.put(*given))
        ]

    try:
        native = run()
    except Exception as error:
        raise Inapplicable(f"the framework refuses {written}: {type(error).__name__}: {error}") from error
    with target.rules({producer.op: case.gradient}) as active:
        value, *found = run()
    what = f"{written} of {producer.id} under {case.spec}"
    demand_equal(value.dtype, native[0].dtype, f"the dtype of {what}")
    demand_all(bits(value) == bits(native[0]), f"the value of {what}", {"got": value, "native": native[0]})
    if mode is REVERSE[0]:
        demand_equal(active.hits[producer.op], 1, f"hits of {producer.op} in {what}")
    if forward:
        _compare(found[0], call.tangent(mapped), call.dtype, f"the tangent of {what}")
        return
    for (label, right), got in zip(call.cotangents(mapped), found, strict=True):
        _compare(got, right, call.dtype, f"the derivative of {what} for {label}")


def _compare(got: Array, expected: Array, dtype: str, what: str) -> None:
    """Fail where they differ by more than rounding does."""
    demand_equal(got.dtype.name, dtype, f"the dtype of {what}")
    demand_equal(got.shape, expected.shape, f"the shape of {what}")
    near = 1e-12 if dtype == "float64" else 1e-5
    demand_all(np.isclose(got, expected, near, near), what, {"got": got, "expected": expected})


def _first(target: Target, name: str) -> tuple[str, Callable[..., Any]]:
    return next(iter(target.driver.consumers()[name].items()))
