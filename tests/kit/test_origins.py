"""Booleans that keep their origin: the kit accepts what carries the gradient on, and rejects each fault."""

import numpy as np
import pytest
from toy import tape
from toy.backend import Toy, ToyDriver

import surrogate
from surrogate.testing import USES, check_backend, matrix
from surrogate.testing._uses import MASK, jacobian

S = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
U, V = np.arange(6.0).reshape(2, 3) - 2.5, np.arange(6.0).reshape(2, 3) ** 2
TABLE = np.arange(9.0).reshape(3, 3) / 4
ONE_HOT = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
G = np.array([[1.0, -2.0, 0.5], [3.0, -1.0, 0.25]])
M = MASK.astype(float)

#: What reaches the value's float twin, by hand.
BY_HAND = {
    "cast": G,
    "times": G * U,
    "minus": -G,
    "sum": np.full((2, 3), (G * U).sum()),
    "integer arithmetic": G,
    "slice": np.pad((G * U).sum(1, keepdims=True), ((0, 0), (1, 1))),
    "stack": G * (U + V),
    "expand": 4 * G * U,
    "where": G * (U - V),
    "masked assignment": G * (0.75 - U),
    "not": -G * U,
    "and": G * U * M,
    "or": G * U * (1 - M),
    "xor": G * U * (1 - 2 * M),
    "all": (G * U).sum(0) * S[::-1],
    "number": (G * U).sum(1, keepdims=True) * np.arange(3),
    "one_hot": G * U,
    "table": G @ TABLE.T,
    "columns": G @ TABLE,
    "take_along_axis": U * (G * V).sum(1, keepdims=True),
    "is a class": (G * U).sum(1, keepdims=True) * [0, 1, 0],
}


@pytest.mark.parametrize("name", BY_HAND)
def test_the_derivatives_of_a_use_are_those_of_the_definition(name):
    twin = ONE_HOT if USES[name].of == "index" else S
    rows = jacobian(name, [twin, U, V, TABLE])
    assert rows.shape == (6, 27)
    np.testing.assert_allclose((G.ravel() @ rows)[:6].reshape(2, 3), BY_HAND[name], rtol=1e-14)


def primitive(name, forward, *partials):
    return tape.Primitive(name, forward, *partials)


def zero(g, out, *xs):
    return g * 0.0


def cast(b):
    return primitive("cast", lambda b: b.astype(np.float64), lambda g, out, b: g)(b)


def where(b, u, v):
    return primitive(
        "where",
        np.where,
        lambda g, out, b, u, v: g * (u - v),
        lambda g, out, b, u, v: g * b,
        lambda g, out, b, u, v: g * ~b,
    )(b, u, v)


class KeepingDriver(ToyDriver):
    def consumers(self):
        return {
            "cast": {"cast": lambda d, o: self.backend.cast(d)},
            "where": {"where": lambda d, o: self.backend.where(d, o.u, o.v)},
        }


class Keeping(Toy):
    """Comparisons of the toy framework leave a box; two things can be done with it."""

    ops = frozenset({"sign", "greater", "less"})
    transforms = frozenset({"discrete"})
    dtypes = ("float64",)
    cast = staticmethod(cast)
    where = staticmethod(where)

    def driver(self):
        return KeepingDriver(self)


class CutAtACast(Keeping):
    """A cast has the derivative zero."""

    cast = staticmethod(lambda b: primitive("cast", lambda b: b.astype(np.float64), zero)(b))


class WrongWayRound(Keeping):
    """``where`` passes ``v - u`` to the boolean."""

    def where(self, b, u, v):
        return primitive("where", np.where, lambda g, out, b, u, v: g * (v - u), zero, zero)(b, u, v)


class OtherValue(Keeping):
    """What is done with a boolean has another value where its origin is known."""

    def cast(self, b):
        return cast(b) if isinstance(b, np.ndarray) else self.nudged(b)

    def nudged(self, b):
        rules = self.rules_here()
        more = np.finfo(np.float64).eps if rules else 0.0
        return primitive("cast", lambda b: b.astype(np.float64) + more, lambda g, out, b: g)(b)


class CountedTwice(Keeping):
    """A comparison is counted twice."""

    def count(self, op):
        super().count(op)
        super().count(op)


def failures(backend):
    return {one.id for one in check_backend(backend, promises=["origins"]).failures}


def test_an_honest_backend_is_accepted():
    report = check_backend(Keeping(), promises=["origins"])
    assert report.ok, str(report)
    done = {one.id for one in report.results if one.outcome == "passed"}
    assert {"origins[greater:arctan-eager]", "origins[greater-where-eager]", "origins[less-less]"} <= done
    left = next(one for one in report.results if one.id == "origins[greater-not-eager]")
    assert left.outcome == "not applicable"
    assert "'not'" in left.message


@pytest.mark.parametrize(
    ("backend", "found"),
    [
        (CutAtACast(), "origins[greater-cast-eager]"),
        (WrongWayRound(), "origins[greater-where-eager]"),
        (OtherValue(), "origins[greater:arctan-eager]"),
        (CountedTwice(), "origins[less-where-eager]"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_a_fault_is_rejected(backend, found):
    assert found in failures(backend)


def test_a_backend_that_does_not_claim_it_is_not_checked_and_the_matrix_says_so():
    report = check_backend(Toy(), promises=["origins", "vjp"], ops=["greater", "sign"])
    assert "discrete" in report.not_claimed
    assert {one.promise for one in report.results} == {"vjp"}
    data = matrix([report])
    (cell,) = (c for c in data["cells"] if (c["op"], c["mode"]) == ("greater", "eager"))
    assert cell["status"] == "not claimed"
    assert surrogate.op("greater").output == "bool"
