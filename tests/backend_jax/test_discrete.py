"""Booleans and integers keep their origin: what reaches it, in every consumer and every mode.

``x > 0`` under ``compare: arctan``. The gradient that reaches the comparison's value as a float is ``g``;
that by x is then the reference's.
"""

import gc
import warnings
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import surrogate_jax._entered as entered_module
from jax import lax
from surrogate_jax import _origins

import surrogate

RNG = np.random.default_rng(0)
X, W, U = RNG.normal(size=(3, 3, 4))
X[0, 1] = 0.0
T = RNG.normal(size=(4, 5))
V = RNG.normal(size=(3, 5))
B = (X > 0).astype(float)
RULES = {
    "compare": "arctan",
    "equal": "triangle",
    "not_equal": "triangle",
    "astype": "identity",
    "searchsorted": "arctan",
    "argmax": "softmax",
    "argmin": "softmax",
}

pytestmark = [
    pytest.mark.usefixtures("sixty_four_bits"),
    # cond and remat may say so of a boolean that their functions close over, although its gradient is right:
    # docs/limits.md
    pytest.mark.filterwarnings("ignore:a boolean or an integer that an overridden op gave goes into"),
]


def over_the_others(values, axis):
    """The derivative of a product by each factor."""
    return np.stack([np.delete(values, i, axis).prod(axis) for i in range(values.shape[axis])], axis)


#: What is done with ``b = x > 0`` (w, u are constants) -> what reaches b as a float.
CONSUMERS = {
    "cast": (lambda b, w, u: (b.astype(w.dtype) * w).sum(), W),
    "lax cast": (lambda b, w, u: (lax.convert_element_type(b, w.dtype) * w).sum(), W),
    "asarray": (lambda b, w, u: (jnp.asarray(b, w.dtype) * w).sum(), W),
    "times": (lambda b, w, u: (b * w).sum(), W),
    "reflected times": (lambda b, w, u: (w * b).sum(), W),
    "one minus": (lambda b, w, u: ((1 - b) * w).sum(), -W),
    "one minus float": (lambda b, w, u: ((1.0 - b) * w).sum(), -W),
    "plus a half": (lambda b, w, u: ((b + 0.5) * w).sum(), W),
    "sum": (lambda b, w, u: b.sum() * 2.0, np.full((3, 4), 2.0)),
    "sum of an axis": (lambda b, w, u: b.sum(0) @ w[0], np.tile(W[0], (3, 1))),
    "count_nonzero": (
        lambda b, w, u: jnp.count_nonzero(b, axis=0).astype(w.dtype) @ w[0],
        np.tile(W[0], (3, 1)),
    ),
    "integer and back": (lambda b, w, u: ((b.astype(int).astype(bool)) * w).sum(), W),
    "integer arithmetic": (lambda b, w, u: ((b.astype(int) * 4 // 2 - 1) * w).sum(), 2 * W),
    "where": (lambda b, w, u: jnp.where(b, u, w).sum(), U - W),
    "where numbers": (lambda b, w, u: (jnp.where(b, 3.0, 1.0) * w).sum(), 2 * W),
    "select": (lambda b, w, u: lax.select(b, u, w).sum(), U - W),
    "select_n": (lambda b, w, u: lax.select_n(b, w, u).sum(), U - W),
    "not": (lambda b, w, u: (~b * w).sum(), -W),
    "logical_not": (lambda b, w, u: (jnp.logical_not(b) * w).sum(), -W),
    "and": (lambda b, w, u: ((b & (u > 0)) * w).sum(), W * (U > 0)),
    "or": (lambda b, w, u: ((b | (u > 0)) * w).sum(), W * (U <= 0)),
    "xor": (lambda b, w, u: ((b ^ (u > 0)) * w).sum(), W * (1 - 2.0 * (U > 0))),
    "equal to a boolean": (lambda b, w, u: ((b == (u > 0)) * w).sum(), -W * (1 - 2.0 * (U > 0))),
    "unequal to a boolean": (lambda b, w, u: ((b != (u > 0)) * w).sum(), W * (1 - 2.0 * (U > 0))),
    "all": (lambda b, w, u: jnp.all(b, axis=0) @ w[0], W[0] * over_the_others(B, 0)),
    "any": (lambda b, w, u: jnp.any(b, axis=1) @ w[:, 0], W[:, :1] * over_the_others(1 - B, 1)),
    "all of one": (lambda b, w, u: (b[None].all(0) * w).sum(), W),
    "reshape": (lambda b, w, u: (b.reshape(2, 6) * w.reshape(2, 6)).sum(), W),
    "transpose": (lambda b, w, u: (b.T * w.T).sum(), W),
    "slice": (lambda b, w, u: (b[1:, ::2] * w[1:, ::2]).sum(), W * [[0], [1], [1]] * [1, 0, 1, 0]),
    "constant index": (lambda b, w, u: (b[np.array([2, 0])] * w[:2]).sum(), np.stack([W[1], 0 * W[0], W[0]])),
    "one row": (lambda b, w, u: b[1] @ w[0], np.stack([0 * W[0], W[0], 0 * W[0]])),
    "stack": (lambda b, w, u: (jnp.stack([b, u > 0])[0] * w).sum(), W),
    "concatenate": (lambda b, w, u: (jnp.concatenate([u > 0, b])[3:] * w).sum(), W),
    "split": (lambda b, w, u: (jnp.split(b, 2, 1)[1] * w[:, 2:]).sum(), np.pad(W[:, 2:], ((0, 0), (2, 0)))),
    "tile": (lambda b, w, u: (jnp.tile(b, (2, 1))[3:] * w).sum(), W),
    "broadcast": (lambda b, w, u: (jnp.broadcast_to(b, (2, 3, 4)) * w).sum(), 2 * W),
    "squeeze": (lambda b, w, u: (b[None].squeeze(0) * w).sum(), W),
    "flip": (lambda b, w, u: (b[::-1] * w).sum(), W[::-1]),
    "pad": (lambda b, w, u: (jnp.pad(b, 1)[1:-1, 1:-1] * w).sum(), W),
    "cumsum": (lambda b, w, u: (jnp.cumsum(b, axis=0) * w).sum(), np.cumsum(W[::-1], 0)[::-1]),
    "matmul": (lambda b, w, u: (b @ T * V).sum(), V @ T.T),
    "where of booleans": (lambda b, w, u: (jnp.where(u > 0, b, u < 1) * w).sum(), W * (U > 0)),
}
MODES = {
    "eager": lambda f: lambda x: jax.grad(f)(x),
    "jit around": lambda f: jax.jit(jax.grad(f)),
    "jit inside": lambda f: jax.grad(jax.jit(f)),
    "remat": lambda f: jax.grad(jax.checkpoint(f)),
    "scan": lambda f: jax.grad(lambda x: lax.scan(lambda c, _: (c + f(x), None), 0.0, length=1)[0]),
    "cond": lambda f: jax.grad(lambda x: lax.cond(x.sum() < 1e9, f, lambda x: 0.0, x)),
    "vmap": lambda f: lambda x: jax.vmap(jax.grad(f))(x[None])[0],
    "vmap inside": lambda f: lambda x: jax.grad(lambda xs: jax.vmap(f)(xs).sum())(jnp.stack([x, x]))[1],
    "jacfwd": lambda f: jax.jacfwd(f),
}


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
@pytest.mark.parametrize(("f", "g"), CONSUMERS.values(), ids=CONSUMERS)
def test_what_reaches_a_comparison(f, g, mode):
    w, u = jnp.asarray(W), jnp.asarray(U)
    run = lambda x: f(x > 0, w, u) * 1.0  # noqa: E731
    native = run(jnp.asarray(X))
    with surrogate.override("jax", {"compare": "arctan"}):
        np.testing.assert_array_equal(jax.vjp(run, X)[0], native)
        found = mode(run)(jnp.asarray(X))
    expected = surrogate.reference.vjp("greater", "arctan", X, 0.0, g=g)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_the_gradients_of_u_and_v_in_where_are_their_own():
    with surrogate.override("jax", {"compare": "arctan"}):
        by_w, by_u = jax.grad(lambda w, u, x: jnp.where(x > 0, u, w).sum(), (0, 1))(W, U, jnp.asarray(X))
        jax.grad(lambda x: ((x > 0) * 1.0).sum())(X)
    np.testing.assert_array_equal(by_u, B)
    np.testing.assert_array_equal(by_w, 1 - B)


def test_where_broadcasts_its_condition():
    f = lambda x: (jnp.where(x[:, None] > 0, U, 2.0) * W).sum()  # noqa: E731
    with surrogate.override("jax", {"compare": "arctan"}):
        found = jax.grad(f)(jnp.asarray(X[:, 0]))
    expected = surrogate.reference.vjp("greater", "arctan", X[:, 0], 0.0, g=(W * (U - 2)).sum(1))[0]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


COMPARISONS = {
    "greater": (lambda x, y: x > y, jnp.greater, lax.gt),
    "greater_equal": (lambda x, y: x >= y, jnp.greater_equal, lax.ge),
    "less": (lambda x, y: x < y, jnp.less, lax.lt),
    "less_equal": (lambda x, y: x <= y, jnp.less_equal, lax.le),
    "equal": (lambda x, y: x == y, jnp.equal, lax.eq),
    "not_equal": (lambda x, y: x != y, jnp.not_equal, lax.ne),
}


@pytest.mark.parametrize("op", COMPARISONS)
@pytest.mark.parametrize("spelling", range(3), ids=["operator", "jnp", "lax"])
def test_spellings_of_comparisons_and_both_operands(op, spelling):
    compare = COMPARISONS[op][spelling]
    gradient = "triangle" if op in ("equal", "not_equal") else "arctan"
    with surrogate.override("jax", {op: gradient}) as active:
        f = lambda x, y: (compare(x, y) * W).sum()  # noqa: E731
        found = jax.grad(f, (0, 1))(X, U)
        moved = jax.jvp(f, (X, U), (W, V[:, :4]))[1]
    expected = surrogate.reference.vjp(op, gradient, X, U, g=W)
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(moved, (expected[0] * W).sum() + (expected[1] * V[:, :4]).sum(), rtol=1e-12)
    assert set(active.hits) == {op}


def test_a_threshold_for_each_neuron_gets_its_own_gradient():
    with surrogate.override("jax", {"compare": "arctan"}):
        by_x, by_t = jax.grad(lambda x, t: ((x > t) * W).sum(), (0, 1))(X, U[0])
    want = surrogate.reference.vjp("greater", "arctan", X, U[0], g=W)
    np.testing.assert_allclose(by_x, want[0], rtol=1e-12)
    np.testing.assert_allclose(by_t, want[1], rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_bit_for_bit_as_heaviside_and_among_themselves(dtype):
    x = jnp.concatenate([jnp.asarray(X.ravel()), jnp.asarray([0.0, -0.0, 1e4, -1e4])]).astype(dtype)
    w = jnp.linspace(-2, 3, x.size).astype(dtype)
    ways = {
        "greater": lambda x: ((x > 0).astype(dtype) * w).sum(),
        "greater_equal": lambda x: ((x >= 0).astype(dtype) * w).sum(),
        "less": lambda x: (jnp.less(0, x).astype(dtype) * w).sum(),
        "less_equal": lambda x: (jnp.less_equal(0, x).astype(dtype) * w).sum(),
        "less of the negative": lambda x: ((-x < 0).astype(dtype) * w).sum(),
    }
    with surrogate.override("jax", {"compare": "arctan", "heaviside": "arctan"}):
        expected = jax.grad(lambda x: (jnp.heaviside(x, jnp.zeros((), dtype)) * w).sum())(x)
        for name, f in ways.items():
            found = jax.grad(f)(x)
            assert found.dtype == dtype
            assert np.asarray(found).tobytes() == np.asarray(expected).tobytes(), name


ONE_HOT = jax.nn.one_hot
#: What is done with ``i = argmax(x, -1)`` -> what reaches the one-hot vector.
INDICES = {
    "one_hot": (lambda i: (ONE_HOT(i, 4) * W).sum(), W),
    "one_hot of fewer": (lambda i: (ONE_HOT(i, 3) * W[:, :3]).sum(), W * [1, 1, 1, 0]),
    "table": (lambda i: (jnp.asarray(T)[i] * V).sum(), V @ T.T),
    "take": (lambda i: (jnp.take(jnp.asarray(T), i, axis=0) * V).sum(), V @ T.T),
    "take of columns": (lambda i: (jnp.take(jnp.asarray(T.T), i, axis=1) * V.T).sum(), V @ T.T),
    "method": (lambda i: (jnp.asarray(T).take(i, axis=0) * V).sum(), V @ T.T),
    "take_along_axis": (
        lambda i: (jnp.take_along_axis(jnp.asarray(U), i[:, None], 1)[:, 0] * V[:, 0]).sum(),
        U * V[:, :1],
    ),
    "float": (lambda i: (i.astype(float) * V[:, 0]).sum(), V[:, :1] * np.arange(4)),
    "arithmetic": (lambda i: ((i * 2 + 1) * V[:, 0]).sum(), V[:, :1] * (2 * np.arange(4) + 1)),
    "equal": (lambda i: ((i == 2) * V[:, 0]).sum(), V[:, :1] * [0, 0, 1, 0]),
    "unequal": (lambda i: ((i != 2) * V[:, 0]).sum(), V[:, :1] * [1, 1, 0, 1]),
    "equal to all": (lambda i: ((i[:, None] == jnp.arange(4)) * W).sum(), W),
    "eye": (lambda i: (jnp.eye(4)[i] * W).sum(), W),
    "less than": (lambda i: (jnp.where(i < 2, V[:, 0], 0.0)).sum(), V[:, :1] * [1, 1, 0, 0]),
    "one after another": (
        lambda i: sum((jnp.asarray(T)[i[k]] * V[k]).sum() for k in range(3)),
        V @ T.T,
    ),
}


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
@pytest.mark.parametrize(("f", "g"), INDICES.values(), ids=INDICES)
def test_what_reaches_the_one_hot_vector_of_an_index(f, g, mode):
    run = lambda x: f(jnp.argmax(x, -1)) * 1.0  # noqa: E731
    native = run(jnp.asarray(X))
    with surrogate.override("jax", {"argmax": "softmax"}):
        np.testing.assert_array_equal(jax.vjp(run, X)[0], native)
        found = mode(run)(jnp.asarray(X))
    expected = surrogate.reference.vjp("argmax", "softmax", X, g=g, axis=-1, one_hot=True)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("op", ["argmax", "argmin"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_axes_of_an_index(op, axis, keepdims):
    f = getattr(jnp, op)
    shape = getattr(np, op)(X, axis=axis, keepdims=keepdims).shape
    g = RNG.normal(size=shape)
    with surrogate.override("jax", {op: "softmax(temperature=0.5)"}):
        found = jax.grad(lambda x: (f(x, axis=axis, keepdims=keepdims) * g).sum())(X)
        method = jax.grad(lambda x: (getattr(x, op)(axis, keepdims=keepdims) * g).sum())(jnp.asarray(X))
    given = {} if axis is None else {"axis": axis % 2}
    expected = surrogate.reference.vjp(op, "softmax(temperature=0.5)", X, g=g, keepdims=keepdims, **given)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(method, found)


def test_a_codebook_under_identity_is_the_straight_through_estimator():
    """Of one-hot vectors that are the points themselves; the codebook has its own gradient."""
    codes = jnp.eye(4)
    usual = lambda z, q: z + lax.stop_gradient(q - z)  # noqa: E731

    def look_up(z):
        return (codes[jnp.argmin(-z, -1)] * W).sum()

    def straight(z):
        return (usual(z, codes[jnp.argmax(z, -1)]) * W).sum()

    with surrogate.override("jax", {"argmin": "identity"}):
        found = jax.grad(lambda z: look_up(z))(X)
    np.testing.assert_allclose(found, jax.grad(straight)(X), rtol=1e-12)


STEPS = np.array([-1.0, 0.0, 0.5])


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
@pytest.mark.parametrize("side", ["left", "right"])
def test_places_among_boundaries(mode, side):
    run = lambda x, b=STEPS: (jnp.searchsorted(b, x, side=side) * W).sum()  # noqa: E731
    with surrogate.override("jax", {"searchsorted": "arctan"}):
        found = mode(run)(jnp.asarray(X))
        by_steps = jax.grad(lambda b: run(jnp.asarray(X), b))(STEPS)
        binned = jax.grad(lambda x: (jnp.digitize(x, STEPS, right=side == "left") * W).sum())(X)
        falling = jax.grad(lambda x: (jnp.digitize(x, STEPS[::-1], right=side == "left") * W).sum())(X)
    expected = surrogate.reference.vjp("searchsorted", "arctan", X, STEPS, g=W, side=side)
    np.testing.assert_allclose(found, expected[0], rtol=1e-12)
    np.testing.assert_allclose(by_steps, expected[1], rtol=1e-12)
    np.testing.assert_allclose(binned, expected[0], rtol=1e-12)
    np.testing.assert_allclose(falling, -expected[0], rtol=1e-12)


CASTS = {
    "method": lambda x: x.astype(int),
    "jnp": lambda x: jnp.astype(x, jnp.int32),
    "asarray": lambda x: jnp.asarray(x, dtype=int),
    "array": lambda x: jnp.array(x, int),
    "scalar type": lambda x: jnp.int32(x),
    "lax": lambda x: lax.convert_element_type(x, jnp.int16),
}


@pytest.mark.parametrize("cast", CASTS.values(), ids=CASTS)
def test_casts_to_integers(cast):
    f = lambda x: ((cast(x) // 2 * 2 + 1) * W).sum()  # noqa: E731
    with surrogate.override("jax", {"astype": "sine"}):
        found = jax.grad(f)(jnp.asarray(3 * X))
    np.testing.assert_allclose(found, surrogate.reference.vjp("astype", "sine", 3 * X, g=W)[0], rtol=1e-12)


def test_a_cast_to_bool_is_not_equal_to_zero():
    with surrogate.override("jax", {"astype": "triangle"}):
        found = jax.grad(lambda x: (x.astype(bool) * W).sum())(jnp.asarray(X))
    want = surrogate.reference.vjp("astype", "triangle", X, g=W, to="bool")[0]
    np.testing.assert_allclose(found, want, rtol=1e-12)
    assert (want != 0).any()


def test_an_infinite_upstream_at_a_closed_window_is_nothing():
    with surrogate.override("jax", {"compare": "boxcar"}):
        pull = jax.vjp(lambda x: jnp.where(x > 0, 1.0, 0.0), jnp.asarray([3.0, 0.25]))[1]
    np.testing.assert_array_equal(pull(jnp.asarray([jnp.inf, 2.0]))[0], [0, 2])


def test_second_derivatives_are_those_of_the_formula():
    hessian = lambda f: jax.jit(jax.hessian(f))(0.3)  # noqa: E731
    with surrogate.override("jax", {"compare": "sigmoid", "heaviside": "sigmoid"}):
        found = hessian(lambda x: (x > 0) * x)
        expected = hessian(lambda x: jnp.heaviside(x, 0.0) * x)
        second = jax.grad(jax.grad(lambda x: jnp.where(x > 0, 2.0, 0.5)))(0.3)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(second, 1.5 * surrogate.reference.second("heaviside", "sigmoid", 0.3, 0)[0])


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_a_boolean_as_an_operand_of_an_overridden_op(mode):
    """``heaviside(b, u)``: ``u`` where b is false, and 1 where it holds; under a rule, by b the rule's."""
    run = lambda x: (jnp.heaviside(x > 0, jnp.asarray(U)) * W).sum()  # noqa: E731
    native = run(jnp.asarray(X))
    with surrogate.override("jax", {"compare": "arctan", "heaviside": "sigmoid"}):
        np.testing.assert_array_equal(jax.vjp(run, X)[0], native)
        found = mode(run)(jnp.asarray(X))
    by_boolean = surrogate.reference.vjp("heaviside", "sigmoid", B, U, g=W)[0]
    expected = surrogate.reference.vjp("greater", "arctan", X, 0.0, g=by_boolean)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


ROWS = np.arange(3)
BESIDE = {
    "rows": (lambda i: (jnp.asarray(U)[ROWS, i] * V[:, 0]).sum(), U * V[:, :1]),
    "after": (lambda i: (jnp.asarray(U.T)[i, ROWS] * V[:, 0]).sum(), U * V[:, :1]),
    "between": (
        lambda i: (jnp.stack([jnp.asarray(U), jnp.asarray(W)], 2)[ROWS, i, 1] * V[:, 0]).sum(),
        W * V[:, :1],
    ),
    "with a slice": (
        lambda i: (jnp.stack([jnp.asarray(U), jnp.asarray(W)], 2)[ROWS, i] * V[:, :2]).sum(),
        U * V[:, :1] + W * V[:, 1:2],
    ),
}


@pytest.mark.parametrize("mode", ["eager", "jit around", "vmap inside", "jacfwd"])
@pytest.mark.parametrize("name", BESIDE)
def test_an_index_beside_others(name, mode):
    f, g = BESIDE[name]
    with surrogate.override("jax", {"argmax": "softmax"}):
        found = MODES[mode](lambda x: f(jnp.argmax(x, -1)))(jnp.asarray(X))
    expected = surrogate.reference.vjp("argmax", "softmax", X, g=g, axis=-1, one_hot=True)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


ENDED = {
    "sort": lambda b: jnp.sort(b.astype(int), axis=None) * 1.0,
    "an index of no argmax": lambda b: jnp.asarray(U)[b.astype(int)],
    "a comparison of counts": lambda b: (b.sum(0) > 1) * 1.0,
    "select": lambda b: jnp.select([b], [jnp.asarray(U)], 0.0),
    "shift": lambda b: (b.astype(int) << 1) * 1.0,
}


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("name", ENDED)
def test_what_ends_a_gradient_says_so_once(name, compiled):
    def f(x):
        return ENDED[name](x > 0).sum()

    def g(x):  # other code for the compiler
        return ENDED[name](x > 0).sum()

    with surrogate.override("jax", {"greater": "arctan"}), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        entered_module._warned.clear()
        for each in (f, g):
            jax.grad(jax.jit(each) if compiled else each)(jnp.asarray(X))
    found = [w for w in caught if issubclass(w.category, surrogate.SurrogateWarning)]
    ended = [w for w in found if "its gradient ends there" in str(w.message)]
    assert len(ended) == 1
    assert ended[0].filename == __file__


def test_nothing_is_said_where_the_gradient_goes_on():
    with surrogate.override("jax", RULES), warnings.catch_warnings():
        warnings.simplefilter("error", surrogate.SurrogateWarning)
        entered_module._warned.clear()
        w, u = jnp.asarray(W), jnp.asarray(U)
        for f, _ in CONSUMERS.values():
            jax.grad(lambda x, f=f: f(x > 0, w, u) * 1.0)(jnp.asarray(X))
        for f, _ in INDICES.values():
            jax.grad(lambda x, f=f: f(jnp.argmax(x, -1)) * 1.0)(jnp.asarray(X))


def test_functions_without_an_origin_are_compiled_as_they_were():
    def f(x, y):
        return (jnp.where(y, x, 2 * x) * jnp.argmax(x) + y.astype(x.dtype)).sum()

    native = str(jax.make_jaxpr(jax.grad(f))(X, B > 0))
    with surrogate.override("jax", {"compare": "arctan", "astype": "identity"}):
        jax.grad(lambda x: ((x > 0) * 1.0 + x.astype(int)).sum())(X)
        assert str(jax.make_jaxpr(jax.grad(lambda x, y: f(x, y)))(X, B > 0)) == native


def test_a_comparison_that_nothing_is_done_with_leaves_the_jaxpr_as_it_was():
    f = lambda x: (x > 0, x < 1)  # noqa: E731
    native = str(jax.make_jaxpr(f)(X))
    with surrogate.override("jax", {"compare": "arctan"}):
        assert str(jax.make_jaxpr(lambda x: f(x))(X)) == native


def test_nothing_piles_up():
    from surrogate_jax import _origins

    gc.collect()
    before = _origins.count()  # other tests may have left some with what they still hold
    with surrogate.override("jax", {"compare": "arctan"}):
        for _ in range(20):
            jax.grad(lambda x: sum(((x > k) * 1.0).sum() for k in range(50)))(jnp.asarray(X[0]))
        jax.make_jaxpr(lambda x: [x > k for k in range(9000)][-1])(X)
    gc.collect()
    assert _origins.count() <= before


def test_an_origin_keeps_its_inputs_no_longer_than_its_value():
    kept = []

    def f(x):
        v = 2 * x
        ref, spikes = weakref.ref(v), v > 0
        total = (spikes * W).sum()
        del v
        kept.append(ref() is not None)
        del spikes
        kept.append(ref() is not None)
        return total

    with surrogate.override("jax", {"compare": "arctan"}):
        jax.jvp(f, (jnp.asarray(X),), (jnp.asarray(W),))
    assert kept == [True, False]


def test_a_value_that_outlives_the_module_ends_in_silence(monkeypatch):
    """When Python ends, the names of modules go before the last values: each printed an error."""
    kept = []
    with surrogate.override("jax", {"compare": "arctan"}):
        jax.grad(lambda x: kept.append(x > 0) or x)(1.0)
    monkeypatch.setattr(_origins, "_alive", None)
    kept.clear()
    gc.collect()  # what is raised there fails the test


def test_a_value_that_outlives_its_trace_is_a_constant():
    """Handed out of a gradient, a comparison is a plain array again."""
    with surrogate.override("jax", {"compare": "arctan"}):
        _, b = jax.grad(lambda x: ((x > 0).sum() * 1.0, x > 0), has_aux=True)(jnp.asarray(X))
        found = jax.grad(lambda w: (b * w).sum())(W)
        again = jax.jit(lambda b, w: (b * w).sum())(b, W)
    np.testing.assert_array_equal(found, B)
    np.testing.assert_allclose(again, (B * W).sum(), rtol=1e-14)


LOOPS = {
    "jit": lambda b: jax.jit(lambda b: b * 1.0)(b),
    "scan": lambda b: lax.scan(lambda c, _: (~c, None), b, length=2)[0] * 1.0,
    "while": lambda b: lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, ~c[1]), (0, b))[1] * 1.0,
    "cond": lambda b: lax.cond(b.all(), lambda: 1.0, lambda: 2.0),
}


@pytest.mark.parametrize("f", LOOPS.values(), ids=LOOPS)
def test_where_a_gradient_ends_a_warning_says_so_once(f):
    run = lambda x: f(x > 0).sum()  # noqa: E731
    with surrogate.override("jax", {"compare": "arctan"}):
        with pytest.warns(surrogate.SurrogateWarning, match="ends there") as caught:
            found = jax.jit(jax.grad(run))(X)
        assert [w.filename for w in caught] == [__file__]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            jax.jit(jax.grad(lambda x: run(x)))(X)
    np.testing.assert_array_equal(found, np.zeros_like(X))


@pytest.mark.parametrize("constant", [False, True], ids=["traced", "constant"])
def test_a_number_that_is_put_where_a_concrete_mask_holds(constant):
    x = jnp.array([[-1.0, 0.3], [2.0, -0.2]])
    onto = jnp.ones((2, 2, 3)) if constant else None
    weights = jnp.linspace(-1.0, 2.0, 12).reshape(2, 2, 3)

    def f(x):
        into = onto if constant else jnp.broadcast_to(x[..., None], (2, 2, 3))
        return (into.at[x > 0].set(0.75) * weights).sum()

    def by_where(x):
        into = onto if constant else jnp.broadcast_to(x[..., None], (2, 2, 3))
        return (jnp.where((x > 0)[..., None], 0.75, into) * weights).sum()

    with surrogate.override("jax", {"greater": "arctan"}):
        value, found = jax.value_and_grad(f)(x)
        expected = jax.grad(by_where)(x)
    assert value == f(x)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert np.abs(found).min() > 0
