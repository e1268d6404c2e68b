"""Formulas that would give a wrong gradient later are refused when a gradient is made of them."""

from fractions import Fraction

import numpy as np
import pytest

import surrogate

HUGE = 10**400


def in_place(xp, x):
    x *= 2
    return xp.abs(x) <= 1


def g_in_place(xp, g, x):
    g[x < 0] = 0
    return g


def one_or_other(xp, x):
    return 1.0 if len(x) > 1 else 0.5


REFUSED = {
    "changes its input": (in_place, "read-only"),
    "changes g": (g_in_place, "read-only"),
    "mean": (lambda xp, x: x - x.mean(), "elementwise"),
    "maximum in a mask": (lambda xp, x: x < x.max(), "elementwise"),
    "softmax": (lambda xp, x: xp.exp(x) / xp.exp(x).sum(), "elementwise"),
    "random": (lambda xp, x: np.random.default_rng().random(x.shape), "elementwise"),
    "by the size": (one_or_other, "elementwise"),
    "mean of a side": (lambda xp, x: surrogate.window(x > 0, x / x.mean()), "elementwise"),
    "from the first": (lambda xp, x: x - x[0], "elementwise"),
    "to the last": (lambda xp, x: x - x[-1], "elementwise"),
    "a sum on the way": (lambda xp, x: np.cumsum(x), "elementwise"),
    "mean of g": (lambda xp, g, x: g - g.mean(), "elementwise"),
    "upstream mask": (lambda xp, g, x: x > 0, "a cotangent.* is a float array"),
    "upstream window": (lambda xp, g, x: surrogate.window(x > 0, 1.0), "select with xp.where"),
    "window in a window": (lambda xp, x: surrogate.window(x > 0, surrogate.window(x > 1)), "select with"),
    "mask in a window": (lambda xp, x: surrogate.window(x > 0, x > 1), "float array"),
    "nothing": (lambda xp, x: None, r"returns None \(NoneType\); a derivative is"),
    "its namespace": (lambda xp: xp, r"\(module\); a derivative is"),
    "huge": (lambda xp, x: HUGE, "inf as a constant"),
    "huge and negative": (lambda xp, x: surrogate.window(x > 0, -HUGE), "-inf as a constant"),
}


@pytest.mark.parametrize(("function", "message"), REFUSED.values(), ids=REFUSED)
def test_it_is_refused_and_what_follows_is_unharmed(function, message):
    with pytest.raises(surrogate.FormulaError, match=message):
        surrogate.gradient("sign", function)
    assert surrogate.reference.vjp("sign", lambda xp, x: xp.abs(x) <= 1, [0.5, 3.0])[0].tolist() == [1, 0]


def test_a_list_of_partials_is_refused_and_a_tuple_wanted():
    with pytest.raises(surrogate.FormulaError, match="of several inputs a tuple"):
        surrogate.gradient("mod", lambda xp, x, y: [1.0, 0.0])


def test_a_partial_of_two_inputs_may_mix_them_at_one_point():
    def quotient(xp, x, y):
        return 1.0 / y, -x / xp.square(y)

    found = surrogate.reference.vjp("mod", quotient, [6.0], [2.0])
    assert [c.tolist() for c in found] == [[0.5], [-1.5]]


@pytest.mark.parametrize("value", [HUGE, -HUGE, Fraction(HUGE)])
def test_a_parameter_too_large_for_a_float_is_refused(value):
    def scaled(xp, x, *, k=1.0):
        return k * xp.ones_like(x)

    surrogate.register("sign", name="scaled")(scaled)
    formula = surrogate._registry.registry.formula("sign", "scaled")
    with pytest.raises(surrogate.ParameterError, match=r"must be finite, not -?inf"):
        surrogate._gradient.make(formula, {"k": value})
    with pytest.raises(surrogate.ParameterError, match="must be finite, not inf"):
        surrogate.gradient("sign", f"hardtanh(width={HUGE})")


@pytest.mark.parametrize("shape", [(), (1,)])
def test_a_float_array_is_multiplied_whatever_its_shape(shape):
    (found,) = surrogate.reference.vjp("sign", "softsign", np.full(shape, np.inf), g=np.inf)
    assert found.shape == shape
    assert np.isnan(found).all()  # 0 * inf, as documented: only a window selects
