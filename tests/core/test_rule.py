"""From one formula to save, vjp and jvp: what is kept, what is selected, what is cast."""

import numpy as np
import pytest

import surrogate
from surrogate import Kind, _numpy as xp, window

X = np.array([-2.0, -1.0, 0.5, 1.0, np.inf, np.nan])


def rule(op, function, **options):
    return surrogate.gradient(op, function).rule


def constant(xp, x):
    return 3.0


def mask(xp, x):
    return xp.abs(x) <= 1


def smooth(xp, x):
    return 1 / (1 + xp.square(x))


def levels(xp, x):
    return window(xp.abs(x) <= 1, 2.0, 0.25)


def tent(xp, x):
    return window(xp.abs(x) <= 1, 1 - xp.abs(x))


@pytest.mark.parametrize(
    ("function", "kind", "kept"),
    [
        (constant, Kind.CONSTANT, []),
        (mask, Kind.MASK, [np.bool_]),
        (levels, Kind.MASK, [np.bool_]),
        (smooth, Kind.INPUTS, [np.float32]),
        (tent, Kind.INPUTS, [np.float32]),
    ],
)
def test_what_the_formula_returns_decides_what_is_kept(function, kind, kept):
    r = rule("sign", function)
    assert r.kept() is kind
    assert [saved.dtype.type for saved in r.save(xp, (X.astype(np.float32),))] == kept


@pytest.mark.parametrize(
    ("function", "selects"),
    [
        (mask, True),
        (lambda xp, x: 1.0, True),
        (lambda xp, x: 0.0, True),
        (constant, False),
        (levels, False),
        (smooth, False),
        (tent, False),
    ],
)
def test_a_vjp_without_arithmetic_says_so(function, selects):
    assert rule("sign", function).selects() is selects


def test_only_wanted_inputs_count_for_it():
    found = rule("clip", lambda xp, x, lo, hi: (x > lo, 2.0, 0.0))
    assert [found.selects(needs) for needs in ((True, False, True), (False, True, False))] == [True, False]


def test_inputs_are_kept_as_they_are_and_not_copied():
    (saved,) = rule("sign", smooth).save(xp, (X,))
    assert saved is X


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (constant, [6, 6, 6, 6, 6, 6]),
        (mask, [0, 2, 2, 2, 0, 0]),
        (levels, [0.5, 4, 4, 4, 0.5, 0.5]),
        (smooth, [0.4, 1.0, 1.6, 1.0, 0, np.nan]),
        (tent, [0, 0, 1, 0, 0, 0]),
    ],
)
def test_vjp_and_jvp_give_the_formula_times_what_comes_in(function, expected):
    r = rule("sign", function)
    v = np.full_like(X, 2.0)
    np.testing.assert_array_equal(r.vjp(xp, r.save(xp, (X,)), v)[0], expected)
    np.testing.assert_array_equal(r.jvp(xp, r.save(xp, (X,)), (v,)), expected)


@pytest.mark.parametrize("function", [mask, tent], ids=["mask", "tent"])
def test_an_infinite_upstream_outside_a_window_is_zero(function):
    r = rule("sign", function)
    x = np.array([3.0, -3.0])
    (cotangent,) = r.vjp(xp, r.save(xp, (x,)), np.array([np.inf, np.nan]))
    assert cotangent.tolist() == [0, 0]


def test_zero_gives_zeros_whatever_comes_in():
    r = surrogate.gradient("sign", "zero").rule
    (cotangent,) = r.vjp(xp, r.save(xp, (X,)), np.full_like(X, np.inf))
    assert cotangent.tolist() == [0] * 6


def test_identity_hands_the_upstream_gradient_through_unchanged():
    r = surrogate.gradient("sign", "identity").rule
    g = np.ones(6)
    assert r.vjp(xp, (), g)[0] is g


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("function", [constant, mask, levels, smooth, tent])
def test_the_dtype_is_kept(function, dtype):
    r = rule("sign", function)
    x, v = X.astype(dtype), np.ones(6, dtype)
    assert r.vjp(xp, r.save(xp, (x,)), v)[0].dtype == dtype
    assert r.jvp(xp, r.save(xp, (x,)), (v,)).dtype == dtype


def test_narrow_floats_are_evaluated_in_float32_and_rounded_once():
    x = np.linspace(-300, 300, 401).astype(np.float16)
    r = rule("sign", smooth)
    (got,) = r.vjp(xp, r.save(xp, (x,)), np.ones_like(x))
    exact = 1 / (1 + x.astype(np.float64) ** 2)
    np.testing.assert_array_equal(got, exact.astype(np.float16))  # float16 arithmetic overflows in x*x


def test_needs_decide_what_is_kept():
    r = surrogate.gradient("mod", "exact").rule
    x, y = np.ones(3), np.full(3, 2.0)
    assert r.save(xp, (x, y), (True, False)) == ()
    assert len(r.save(xp, (x, y), (False, True))) == 2
    closed = surrogate.gradient("clip", "closed").rule
    bounds = (x, np.zeros(3), np.ones(3))
    assert [len(closed.save(xp, bounds, needs)) for needs in ((True, False, False), None)] == [1, 3]


def test_cotangents_that_are_not_needed_are_none():
    r = surrogate.gradient("mod", "exact").rule
    x, y, g = np.array([5.0, -5.0]), np.array([3.0, 3.0]), np.array([2.0, 1.0])
    first = r.vjp(xp, r.save(xp, (x, y), (True, False)), g, (True, False))
    second = r.vjp(xp, r.save(xp, (x, y), (False, True)), g, (False, True))
    assert first[1] is None
    assert second[0] is None
    assert first[0].tolist() == [2, 1]
    assert second[1].tolist() == [-2, 2]


def test_the_op_supplies_the_derivative_of_inputs_a_formula_leaves_out():
    r = surrogate.gradient("heaviside", "arctan").rule
    x, values = np.array([-1.0, 0.0, 2.0]), np.full(3, 0.5)
    saved = r.save(xp, (x, values))
    assert len(saved) == 1  # x; the value at 0 is not needed
    assert r.vjp(xp, saved, np.full(3, 7.0))[1].tolist() == [0, 7, 0]


class Incomparable(np.ndarray):
    """Refuses what only heaviside's own derivative does."""

    def __eq__(self, other):
        raise AssertionError("evaluated, and nobody wants it")


@pytest.mark.parametrize("function", [smooth, mask])
def test_and_only_where_it_is_wanted(function):
    found, x, g = rule("heaviside", function), X[:3].view(Incomparable), np.array([4.0, 5.0, 6.0])
    saved = found.save(xp, (x, 0.5), (True, False))
    by_x, by_values = found.vjp(xp, saved, g, (True, False))
    np.testing.assert_array_equal(np.asarray(by_x), function(xp, X[:3]) * g)
    assert by_values is None
    np.testing.assert_array_equal(np.asarray(found.jvp(xp, saved, (g, None), (True, False))), by_x)


def test_the_value_at_zero_alone_keeps_one_mask():
    r = surrogate.gradient("heaviside", "arctan").rule
    (saved,) = r.save(xp, (np.array([-1.0, 0.0]), np.ones(2)), (False, True))
    assert saved.dtype == np.bool_


def test_clip_closed_adds_up_to_the_upstream_gradient():
    x = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    parts = surrogate.reference.vjp("clip", "closed", x, np.full(5, -1.0), np.full(5, 1.0), g=3.0)
    assert sum(parts).tolist() == [3] * 5


def test_python_numbers_stand_for_inputs():
    r = surrogate.gradient("clip", "closed").rule
    needs = (True, False, False)
    saved = r.save(xp, (X, -1.0, float("inf")), needs)
    assert r.vjp(xp, saved, np.ones(6), needs)[0].tolist() == [0, 1, 1, 1, 1, 0]


def test_forward_mode_sums_over_the_inputs_that_move():
    r = surrogate.gradient("mod", "exact").rule
    x, y = np.array([5.0, -5.0]), np.array([3.0, 3.0])
    saved = r.save(xp, (x, y))
    assert r.jvp(xp, saved, (np.ones(2), np.ones(2))).tolist() == [0, 3]
    assert r.jvp(xp, saved, (None, np.ones(2))).tolist() == [-1, 2]
    assert r.jvp(xp, saved, (None, None)) is None


def test_upstream_gradients_have_no_forward_mode():
    def gated(xp, g, x):
        return xp.where(g > 0, g, 0)

    r = rule("relu", gated)
    assert r.upstream
    assert r.vjp(xp, r.save(xp, (X,)), np.array([1.0, -1, 2, -2, 3, -3]))[0].tolist() == [1, 0, 2, 0, 3, 0]
    with pytest.raises(surrogate.ForwardModeError, match="reverse mode"):
        r.jvp(xp, r.save(xp, (X,)), (X,))


def test_an_upstream_formula_that_takes_no_input_keeps_nothing():
    def sieve(xp, g):
        return xp.where(g > 0, g, 0)

    assert rule("relu", sieve).save(xp, (X,)) == ()


def test_decimals_move_the_point_where_the_formula_is_evaluated():
    def near(xp, x):
        return xp.abs(x) <= 25

    found = surrogate.gradient("round", near)
    x = np.array([0.2, 0.25, 0.3, 2.0])
    assert surrogate.reference.vjp("round", found, x, decimals=2)[0].tolist() == [1, 1, 0, 0]
    assert surrogate.reference.vjp("round", found, x * 100)[0].tolist() == [1, 1, 0, 0]
    assert surrogate.reference.vjp("round", found, np.array([240.0, 260.0]), decimals=-1)[0].tolist() == [
        1,
        0,
    ]


def test_rules_are_values():
    found = surrogate.gradient("round", "identity")
    assert found.at(decimals=2) is found.at(decimals=2)
    assert found.at(decimals=2) != found.at(decimals=1)
    assert found.at(decimals=0) is found.rule
    assert len({found.at(decimals=2), found.at(decimals=2), found.rule}) == 2
    assert found.at(decimals=2).digest != found.rule.digest


def test_what_a_rule_said_in_0_1_still_works_with_a_warning():
    gradient = surrogate.gradient("round", "sine")
    with pytest.warns(DeprecationWarning, match=r"use rule\.id"):
        assert gradient.rule.gradient is gradient
    with pytest.warns(DeprecationWarning, match=r"use rule\.attributes"):
        assert gradient.at(decimals=2).decimals == 2
    with pytest.warns(DeprecationWarning, match="decimals"):
        assert gradient.rule.decimals == 0
