"""The kit notices a wrong ``xp``: every name, in value and in derivative."""

import types

import pytest
from toy import namespace, tape
from toy.backend import Toy

import surrogate
from surrogate.testing import check_backend
from surrogate.testing._namespace import (
    ALONG,
    BINARY,
    CASTS,
    CONSTANTS,
    LOGICAL,
    NAMES,
    TESTS,
    UNARY,
    differentiable,
)

#: What stands in the place of each name: another function of the same kind, the likeliest mistake.
OTHER = {
    **dict.fromkeys(UNARY, "sin"),
    "sin": "cos",
    "abs": "sign",
    "floor": "trunc",
    "trunc": "floor",
    "ceil": "round",
    "round": "floor",
    "tan": "tanh",
    "log": "log1p",
    "log1p": "log",
    "exp": "expm1",
    "expm1": "exp",
    "isnan": "isinf",
    "isinf": "isnan",
    "isfinite": "isinf",
    "logical_and": "logical_or",
    "logical_or": "logical_and",
    "maximum": "minimum",
    "minimum": "maximum",
    "pow": "maximum",
    "zeros_like": "ones_like",
    "ones_like": "zeros_like",
    "softmax": "sum",
    "sum": "softmax",
    "e": "pi",
    "pi": "e",
    "nan": "inf",
    "inf": "nan",
}


def check(**names):
    """The ids of the checks that reject a namespace with these names replaced."""
    toy = Toy()
    toy.xp = types.SimpleNamespace(**{name: getattr(namespace, name) for name in NAMES} | names)
    return {failure.id for failure in check_backend(toy, ops=[], promises=["namespace"]).failures}


def test_the_kinds_cover_every_name_once():
    kinds = [*CONSTANTS, *TESTS, *LOGICAL, *BINARY, *CASTS, *UNARY, *ALONG, "parameter"]
    assert sorted(kinds) == sorted(surrogate.reference.xp.__all__)


def test_an_honest_namespace_is_accepted():
    assert check() == set()


@pytest.mark.parametrize("name", sorted(OTHER))
def test_another_function_under_a_name_is_rejected(name):
    assert f"namespace[{name}]" in check(**{name: getattr(namespace, OTHER[name])})


def test_a_large_number_is_no_infinity():
    assert check(inf=1e30) == {"namespace[inf]"}


def test_a_name_that_is_missing_is_told():
    toy = Toy()
    toy.xp = types.SimpleNamespace(**{name: getattr(namespace, name) for name in NAMES if name != "tan"})
    report = check_backend(toy, ops=[], promises=["namespace"])
    assert {failure.message for failure in report.failures} == {
        "xp has no name 'tan', which formulas may use."
    }


def test_a_where_that_multiplies_is_rejected():
    def where(mask, x, y):
        return x * mask + y * namespace.logical_not(mask)

    assert check(where=where) == {"namespace[where]"}


def test_a_maximum_that_does_not_split_ties_is_rejected():
    def maximum(x, y):
        return namespace.where(tape.unbox(x) >= tape.unbox(y), x, y)

    assert check(maximum=maximum) >= {"namespace[maximum-derivative]"}


def test_a_sign_of_minus_one_at_zero_is_rejected():
    assert check(sign=lambda x: namespace.where(x > 0, 1.0, -1.0)) >= {"namespace[sign]"}


def test_a_widen_that_keeps_half_precision_is_rejected():
    assert check(widen=lambda x: x) == {"namespace[widen]"}


def test_a_cast_that_forgets_the_dtype_is_rejected():
    assert check(astype_like=lambda x, like: x) == {"namespace[astype_like]"}


def test_only_float_functions_are_asked_for_a_derivative():
    assert {name for name in NAMES if differentiable(name)} == {*UNARY, *BINARY}
