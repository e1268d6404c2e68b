"""What the kit's check of every spelling does not say: imports, NumPy's own functions, bounds, refusals."""

import math

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import make_vjp
from autograd.numpy import fix as early_fix, mod as early_mod, round as early_round, sign as early_sign
from autograd.numpy.numpy_boxes import ArrayBox

import surrogate

# since autograd 1.9 NumPy's own ufuncs hand a box to autograd; before they refuse it
handed_on = pytest.mark.skipif(
    not hasattr(ArrayBox, "__array_ufunc__"), reason="before autograd 1.9 numpy.sign(box) is a TypeError"
)
# NumPy 2.5 deprecates it
deprecated = pytest.mark.filterwarnings("ignore:numpy.fix is deprecated")

UNARY = [
    ("sign", "from-import", lambda x: early_sign(x), {}),
    ("sign", "numpy.sign", lambda x: np.sign(x), {}, handed_on),
    ("round", "from-import", lambda x: early_round(x), {}),
    ("round", "numpy.round", lambda x: np.round(x, 1), {"decimals": 1}),
    ("trunc", "np.fix", lambda x: anp.fix(x), {}, deprecated),
    ("trunc", "from-import fix", lambda x: early_fix(x), {}, deprecated),
]

BINARY = [
    ("mod", "from-import", lambda x, y: early_mod(x, y)),
    ("heaviside", "numpy.heaviside", lambda x, y: np.heaviside(x, y), handed_on),
]

REFLECTED = [
    ("mod", "numpy.float64 % y", lambda y: np.float64(2.0) % y),
    ("mod", "array % y", lambda y: np.full(7, 2.0) % y),
    ("mod", "divmod(2.0, y)[1]", lambda y: divmod(2.0, y)[1]),
    ("floor_divide", "array // y", lambda y: np.full(7, 2.0) // y),
    ("floor_divide", "divmod(2.0, y)[0]", lambda y: divmod(2.0, y)[0]),
]

CLIP = [
    ("no lower bound by name", lambda x: anp.clip(x, a_min=None, a_max=2.0), -math.inf, 2.0),
    ("method by name", lambda x: x.clip(a_min=-1.0, a_max=2.0), -1.0, 2.0),
    ("numpy.clip", lambda x: np.clip(x, -1.0, 2.0), -1.0, 2.0),
]


def cases(table, columns):
    return [
        pytest.param(op, *row[:columns], id=f"{op}-{name}", marks=row[columns:]) for op, name, *row in table
    ]


@pytest.mark.parametrize(("op", "f", "attributes"), cases(UNARY, 2))
def test_unary(op, f, attributes, rules, x, g):
    native = np.asarray(f(x))
    with surrogate.override("autograd", {op: rules[op]}) as used:
        vjp, value = make_vjp(f)(x)
    np.testing.assert_array_equal(value, native)
    np.testing.assert_array_equal(np.signbit(value), np.signbit(native))
    np.testing.assert_array_equal(vjp(g), surrogate.reference.vjp(op, rules[op], x, g=g, **attributes)[0])
    assert used.hits == {op: 1}


@pytest.mark.parametrize(("op", "f"), cases(BINARY, 1))
@pytest.mark.parametrize("operand", [0, 1], ids=["first", "second"])
def test_binary(op, f, operand, rules, x, y, g):
    native = f(x, y)
    with surrogate.override("autograd", {op: rules[op]}) as used:
        vjp, value = make_vjp(f, operand)(x, y)
    np.testing.assert_array_equal(value, native)
    np.testing.assert_array_equal(vjp(g), surrogate.reference.vjp(op, rules[op], x, y, g=g)[operand])
    assert used.hits == {op: 1}


@pytest.mark.parametrize(("op", "f"), cases(BINARY, 1))
def test_binary_by_both_operands(op, f, rules, x, y, g):
    with surrogate.override("autograd", {op: rules[op]}) as used:
        vjp, _ = make_vjp(f, (0, 1))(x, y)
    for found, right in zip(vjp(g), surrogate.reference.vjp(op, rules[op], x, y, g=g), strict=True):
        np.testing.assert_array_equal(found, right)
    assert used.hits == {op: 1}


@pytest.mark.parametrize(("op", "f"), cases(REFLECTED, 1))
def test_reflected(op, f, rules, y, g):
    native = f(y)
    with surrogate.override("autograd", {op: rules[op]}):
        vjp, value = make_vjp(f)(y)
    np.testing.assert_array_equal(value, native)
    right = surrogate.reference.vjp(op, rules[op], np.full(7, 2.0), y, g=g)[1]
    np.testing.assert_array_equal(vjp(g), right)


def test_augmented_operators(rules, y, g):
    def f(y):
        z = y
        z %= 2.0
        w = y
        w //= 2.0
        return z + w

    with surrogate.override("autograd", {op: rules[op] for op in ("mod", "floor_divide")}) as used:
        vjp, value = make_vjp(f)(y)
    np.testing.assert_array_equal(value, y % 2.0 + y // 2.0)
    np.testing.assert_array_equal(vjp(g), 2 * surrogate.reference.vjp("mod", rules["mod"], y, 2.0, g=g)[0])
    assert used.hits == {"mod": 1, "floor_divide": 1}


@pytest.mark.parametrize(("f", "lo", "hi"), [pytest.param(*row[1:], id=row[0]) for row in CLIP])
def test_clip(f, lo, hi, rules, x, g):
    with surrogate.override("autograd", {"clip": "closed"}) as used:
        vjp, value = make_vjp(f)(x)
    np.testing.assert_array_equal(value, np.clip(x, lo, hi))
    np.testing.assert_array_equal(vjp(g), surrogate.reference.vjp("clip", "closed", x, lo, hi, g=g)[0])
    assert used.hits == {"clip": 1}


@pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="NumPy 2.1 gave clip the names min and max"
)
@pytest.mark.parametrize(
    ("f", "lo", "hi"),
    [
        pytest.param(lambda x: anp.clip(x, min=-1.0, max=2.0), -1.0, 2.0, id="min, max"),
        pytest.param(lambda x: anp.clip(x, min=-1.0), -1.0, math.inf, id="min alone"),
        pytest.param(lambda x: x.clip(max=2.0), -math.inf, 2.0, id="method, max alone"),
        pytest.param(lambda x: anp.clip(x), -math.inf, math.inf, id="no bound"),
    ],
)
def test_clip_by_min_and_max(f, lo, hi, rules, x, g):
    with surrogate.override("autograd", {"clip": "closed"}):
        vjp, value = make_vjp(f)(x)
    np.testing.assert_array_equal(value, f(x))
    np.testing.assert_array_equal(vjp(g), surrogate.reference.vjp("clip", "closed", x, lo, hi, g=g)[0])


@pytest.mark.parametrize(
    "f",
    [
        pytest.param(lambda x, lo, hi: anp.clip(x, lo, hi), id="positional"),
        pytest.param(lambda x, lo, hi: anp.clip(x, a_min=lo, a_max=hi), id="by name"),
        pytest.param(lambda x, lo, hi: x.clip(lo, a_max=hi), id="method"),
    ],
)
def test_clip_by_its_bounds(f, rules, x, g):
    lo, hi = np.array(-1.0), np.linspace(0.0, 2.0, 7)
    with surrogate.override("autograd", {"clip": rules["clip"]}):
        vjp, _ = make_vjp(f, (0, 1, 2))(x, lo, hi)
    for found, right in zip(
        vjp(g), surrogate.reference.vjp("clip", rules["clip"], x, lo, hi, g=g), strict=True
    ):
        np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize("f", [anp.floor, anp.sign, anp.round], ids=["floor", "sign", "round"])
def test_out_and_where_are_refused(f, x):
    rules = dict.fromkeys(("floor", "sign", "round"), "identity")
    with (
        pytest.raises(surrogate.UnsupportedOpError, match="out="),
        surrogate.override("autograd", rules),
    ):
        make_vjp(lambda x: f(x, out=np.zeros(7)))(x)


@pytest.mark.parametrize("op", ["relu", "relu6"])
def test_relu_is_not_there(op):
    with pytest.raises(surrogate.UnsupportedOpError, match=r"np\.maximum"):
        surrogate.use("autograd", {op: "identity"})


def test_wrong_calls_get_numpy_s_own_error(x):
    with (
        pytest.raises(TypeError, match="remainder"),
        surrogate.override("autograd", {"mod": "exact"}),
    ):
        make_vjp(lambda x: anp.mod(x))(x)
