"""Ops that give booleans and integers: heaviside's formulas of a difference, one-hot vectors, boundaries."""

import pickle

import numpy as np
import pytest

import surrogate
from surrogate import Kind, _numpy as xp, reference
from surrogate._compare import ORDERINGS
from surrogate._examples import examples
from surrogate._registry import registry

X = np.array([-2.0, -0.5, 0.0, 0.25, 1.0, 3.0, np.inf, -np.inf, np.nan])
Y = np.array([-1.0, 0.0, 0.5, 0.25, 1.5])[:, None]
G = np.linspace(-2, 3, 45).reshape(5, 9)
HEAVISIDE = [*examples("heaviside"), *surrogate.presets("heaviside")]
DISCRETE = [*ORDERINGS, "equal", "not_equal", "argmax", "argmin", "astype", "searchsorted"]


@pytest.mark.parametrize("spec", HEAVISIDE)
@pytest.mark.parametrize(("op", "sign"), list(zip(ORDERINGS, (1, 1, -1, -1), strict=True)))
def test_an_ordering_has_heavisides_gradient_of_the_difference(op, sign, spec):
    by_x, by_y = reference.vjp(op, spec, X, Y, g=G)
    with np.errstate(invalid="ignore"):
        d = X - Y
    h = sign * reference.vjp("heaviside", spec, d, 0.0, g=G)[0]
    np.testing.assert_array_equal(by_x, h.sum(axis=0))
    np.testing.assert_array_equal(by_y, -h.sum(axis=1, keepdims=True))


def test_the_same_names_parameters_and_presets():
    for op in ORDERINGS:
        assert surrogate.gradients(op) == sorted(surrogate.gradients("heaviside"))
        assert surrogate.presets(op) == surrogate.presets("heaviside")
        assert dict(surrogate.gradient(op, "snntorch:sigmoid").params) == {"slope": 25.0}
    with pytest.raises(surrogate.ParameterError, match="width must be above 0"):
        surrogate.gradient("less", "boxcar(width=-1)")


def test_a_window_of_two_operands_keeps_one_byte_per_element():
    rule = surrogate.gradient("greater", "boxcar").rule
    (mask,) = rule.save(xp, (X, Y))
    assert (mask.dtype, mask.shape) == (np.bool_, (5, 9))
    assert rule.kept() is Kind.MASK
    found = rule.vjp(xp, (mask,), np.full((5, 9), np.inf))
    assert set(found[0].ravel()) == {0, np.inf}  # an infinite upstream gradient at a closed window is 0


def test_no_discrete_op_has_a_default():
    for op in (*DISCRETE, "maximum", "minimum"):
        assert surrogate.op(op).default is None


def test_what_a_discrete_op_gives():
    assert reference.forward("less_equal", [1, 2], [1, 1]).tolist() == [True, False]
    assert reference.forward("argmin", [[3.0, 1.0], [0.0, 2.0]], axis=1).dtype == np.int64
    assert reference.forward("astype", [-1.5, 2.7]).tolist() == [-1, 2]
    assert reference.forward("astype", [0.0, 0.1], to="bool").tolist() == [False, True]
    assert reference.forward("searchsorted", [1.0, 2.0], [1.0, 1.5], side="right").tolist() == [1, 2]


def test_derived_gradients_are_interned_pickled_and_have_a_stable_digest():
    found = surrogate.gradient("greater", "arctan(alpha=3)")
    assert pickle.loads(pickle.dumps(found)) is found is surrogate.gradient("greater", "arctan(alpha=3.0)")
    assert found.digest != surrogate.gradient("heaviside", "arctan(alpha=3)").digest
    assert found.digest != surrogate.gradient("less", "arctan(alpha=3)").digest
    assert surrogate.gradient("greater", bump) is surrogate.gradient("greater", bump)
    assert pickle.loads(pickle.dumps(surrogate.gradient("greater", bump))) is surrogate.gradient(
        "greater", bump
    )


def bump(xp, x):
    return 1 / (1 + xp.square(x))


def only_the_threshold(xp, x, y):
    return 0.0, -bump(xp, x - y)


def test_a_users_function_of_one_input_is_of_the_difference():
    by_x, by_y = reference.vjp("less", bump, [1.0], [3.0])
    assert (by_x.item(), by_y.item()) == (-0.2, 0.2)


def test_a_users_function_of_both_gives_both_partials():
    by_x, by_y = reference.vjp("greater", only_the_threshold, [1.0, 2.0], 3.0)
    assert (by_x.tolist(), by_y.item()) == ([0, 0], -0.7)


@pytest.fixture
def forget():
    yield
    del registry._formulas["heaviside"]["unheard_of"]


@pytest.mark.usefixtures("forget")
def test_a_gradient_that_is_registered_for_heaviside_is_there_for_all():
    surrogate.register("heaviside", name="unheard_of", replace=True)(bump)
    assert reference.vjp("greater", "unheard_of", 1.0, 3.0)[0] == 0.2
    surrogate.register("heaviside", name="unheard_of", replace=True)(lambda xp, x: 3.0)
    assert reference.vjp("greater", "unheard_of", 1.0, 3.0)[0] == 3.0


@pytest.mark.parametrize("name", sorted({*surrogate.gradients("equal")} - {"zero"}))
def test_equal_is_drawn_to_a_tie_and_not_equal_away(name):
    d = np.array([-1e30, -3.0, -0.5, -1e-3, 0.0, 1e-3, 0.5, 3.0, 1e30, np.inf, -np.inf])
    by_x, by_y = reference.vjp("equal", name, d, 0.0, g=np.ones_like(d))
    assert np.isfinite(by_x).all()
    assert by_x[4] == 0
    assert (by_x[d < 0] >= 0).all()
    assert by_x[2] > 0
    np.testing.assert_array_equal(by_x[:4], -by_x[8:4:-1])
    assert by_y == -by_x.sum()
    np.testing.assert_array_equal(reference.vjp("not_equal", name, d, 0.0, g=np.ones_like(d))[0], -by_x)


BUMPS = {
    "triangle": lambda d: np.maximum(0, 1 - np.abs(d)),
    "gaussian": lambda d: np.exp(-(d**2) / 0.5),
    "laplace": lambda d: np.exp(-np.abs(d)),
    "sigmoid": lambda d: 1 - np.tanh(2 * d) ** 2,
    "arctan": lambda d: 1 / (1 + (np.pi * d) ** 2),
}


@pytest.mark.parametrize("name", BUMPS)
def test_a_bumps_gradient_adds_up_to_the_bump(name):
    nodes, weights = np.polynomial.legendre.leggauss(60)
    a, b = 0.1, 0.9
    d = (a + b) / 2 + (b - a) / 2 * nodes
    got = reference.vjp("equal", name, d, np.zeros_like(d))[0] @ weights * (b - a) / 2
    np.testing.assert_allclose(got, BUMPS[name](b) - BUMPS[name](a), rtol=1e-13)


def test_argmax_by_softmax_is_softmaxs_own_vjp():
    x = np.array([[1.0, 3.0, 2.0], [0.0, -1.0, 0.5]])
    g = np.array([[1.0, -2.0, 0.5], [0.0, 3.0, 1.0]])
    for t in (1.0, 0.5):
        p = np.exp(x / t) / np.exp(x / t).sum(axis=1, keepdims=True)
        expected = np.einsum("ij,ijk->ik", g, (np.eye(3) * p[:, :, None] - p[:, :, None] * p[:, None, :]) / t)
        spec = f"softmax(temperature={t})"
        (got,) = reference.vjp("argmax", spec, x, g=g, axis=1, one_hot=True)
        np.testing.assert_allclose(got, expected, rtol=1e-12)
        np.testing.assert_allclose(
            reference.jvp("argmax", spec, x, t=g, axis=1, one_hot=True), expected, rtol=1e-12
        )
        (least,) = reference.vjp("argmin", spec, -x, g=g, axis=1, one_hot=True)
        np.testing.assert_array_equal(least, -got)


def test_an_index_as_a_float_is_the_sum_of_its_places():
    x = np.array([[1.0, 3.0, 2.0], [0.0, -1.0, 0.5]])
    (got,) = reference.vjp("argmax", "identity", x, g=[1.0, 10.0], axis=1)
    assert got.tolist() == [[0, 1, 2], [0, 10, 20]]
    assert reference.vjp("argmax", "identity", x, g=2.0)[0].tolist() == [[0, 2, 4], [6, 8, 10]]
    assert reference.vjp("argmin", "identity", x, g=[[1.0, 2.0, 3.0]], axis=0, keepdims=True)[0].tolist() == [
        [0, 0, 0],
        [-1, -2, -3],
    ]
    t = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert reference.jvp("argmax", "identity", x, t=t, axis=1).tolist() == [8, 17]


def test_argmax_keeps_nothing_for_identity_and_has_forward_mode():
    found = surrogate.gradient("argmax", "identity")
    assert found.rule.save(xp, (X,)) == ()
    assert (found.upstream, found.rule.forward_mode, found.rule.elementwise) == (False, True, False)
    assert found.at(axis=1) is not found.rule


def test_a_users_gradient_of_argmax_takes_g():
    with pytest.raises(surrogate.FormulaError, match="takes g, in the shape of x"):
        surrogate.gradient("argmax", lambda xp, x: 1.0)
    scaled = surrogate.gradient("argmax", lambda xp, g, x, *, axis=None: g * x)
    assert reference.vjp("argmax", scaled, [1.0, 2.0], g=[3.0, 4.0], one_hot=True)[0].tolist() == [3, 8]
    with pytest.raises(surrogate.ForwardModeError):
        reference.jvp("argmax", scaled, [1.0, 2.0], one_hot=True)


@pytest.mark.parametrize("spec", ["arctan", "boxcar", "identity", "triangle(width=2)", "piecewise_leaky"])
def test_searchsorted_is_a_step_at_each_boundary(spec):
    x, b = np.array([[-2.0, 0.3], [0.5, 4.0]]), np.array([-1.0, 0.5, 1.0])
    g = np.array([[1.0, -2.0], [0.5, 3.0]])
    by_x, by_b = reference.vjp("searchsorted", spec, x, b, g=g)
    h = reference.vjp("heaviside", spec, x[..., None] - b, 0.0, g=np.repeat(g[..., None], 3, axis=-1))[0]
    np.testing.assert_array_equal(by_x, h.sum(axis=-1))
    np.testing.assert_allclose(by_b, -h.sum(axis=(0, 1)), rtol=1e-15)
    tangent = reference.jvp("searchsorted", spec, x, b, t=(g, b))
    ones = np.ones((2, 2, 3))
    slope = reference.vjp("heaviside", spec, x[..., None] - b, 0.0, g=ones)[0]
    np.testing.assert_allclose(tangent, (slope * (g[..., None] - b)).sum(axis=-1), rtol=1e-15)


def test_searchsorted_with_a_row_of_boundaries_for_each_row():
    x, b = np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([[0.5, 2.0, 4.0], [1.0, 2.5, 9.0]])
    by_x, by_b = reference.vjp("searchsorted", "arctan", x, b)
    for i in range(2):
        alone = reference.vjp("searchsorted", "arctan", x[i], b[i])
        np.testing.assert_array_equal(by_x[i], alone[0])
        np.testing.assert_array_equal(by_b[i], alone[1])
    assert reference.forward("searchsorted", x, b).tolist() == [[0, 1], [1, 2]]


def test_a_cast_to_an_integer_has_truncs_gradients_and_one_to_bool_not_equals():
    x = np.array([-1.5, 0.2, 2.0])
    for spec in examples("trunc"):
        np.testing.assert_array_equal(reference.vjp("astype", spec, x)[0], reference.vjp("trunc", spec, x)[0])
        assert reference.vjp("astype", spec, x, to="bool")[0].tolist() == [0, 0, 0]
    for spec in examples("not_equal"):
        expected = reference.vjp("not_equal", spec, x, np.zeros(3))[0]
        np.testing.assert_array_equal(reference.vjp("astype", spec, x, to="bool")[0], expected)


def test_maximum_and_minimum():
    x, y, g = np.array([1.0, 2.0, 3.0, np.nan]), 2.0, np.array([1.0, 10.0, -100.0, 5.0])
    expected = {
        ("maximum", "closed"): ([0, 10, -100, 0], 1),
        ("minimum", "closed"): ([1, 10, 0, 0], -100),
        ("maximum", "split"): ([0, 5, -100, 0], 6),
        ("minimum", "split"): ([1, 5, 0, 0], -95),
        ("maximum", "identity"): ([1, 10, -100, 5], 0),
        ("maximum", "towards"): ([0, 10, -100, 0], 0),
        ("minimum", "towards"): ([1, 10, 0, 0], 0),
    }
    for (op, name), (by_x, by_y) in expected.items():
        found = reference.vjp(op, name, x, y, g=g)
        assert (found[0].tolist(), found[1].item()) == (by_x, by_y), (op, name)
    assert reference.vjp("maximum", "towards", 1.0, 2.0, g=-3.0)[0] == -3
    assert reference.vjp("minimum", "towards", 3.0, 2.0, g=4.0)[0] == 4


def test_the_new_names_of_ops_that_were():
    x = np.array([-0.5, 0.0, 1.0, 6.0, 7.0])
    assert [c.tolist() for c in reference.vjp("clip", "pact", x, 0.0, 6.0)] == [[0, 1, 1, 0, 0], 1, 2]
    np.testing.assert_allclose(
        reference.vjp("round", "cubic", [0.5, 0.25, 2.0, -1.4])[0], [0.75, 0.1875, 0, 0.48]
    )
    np.testing.assert_allclose(
        reference.vjp("floor", "cubic", [0.5, 0.25, 2.0, -1.4])[0], [0, 0.1875, 0.75, 0.03]
    )
    assert reference.vjp("heaviside", "open_boxcar", [-0.5, 0.4, 0.5], 0.0)[0].tolist() == [0, 1, 0]
    assert reference.vjp("heaviside", "hardtanh(width=2)", [-2.0, 0.4, 2.1], 0.0)[0].tolist() == [
        0.25,
        0.25,
        0,
    ]


def test_a_cast_to_bool_gives_booleans():
    assert reference.forward("astype", [0.0, 0.1], to="bool").dtype == np.bool_
