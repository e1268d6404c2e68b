"""Shapes, dtypes and weak types are kept; what is not a real floating number is left alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax_formulas import gradient_of, square
from surrogate_jax._hooks import sixty_four_bits

import surrogate

DTYPES = ("float16", "bfloat16", "float32", "float64")
UNARY = {
    "sign": jnp.sign,
    "round": jnp.round,
    "floor": jnp.floor,
    "ceil": jnp.ceil,
    "trunc": jnp.trunc,
    "abs": jnp.abs,
    "relu": jax.nn.relu,
    "relu6": jax.nn.relu6,
}
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 2.5, -3.5, 1e-40, 300.0, 65504.0)


def bits(x):
    return np.asarray(x).view(f"u{np.asarray(x).dtype.itemsize}")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", UNARY)
@pytest.mark.usefixtures("sixty_four_bits")
def test_forward_is_bit_identical_and_dtypes_are_kept(op, dtype):
    x, f = jnp.asarray(SPECIAL, dtype), UNARY[op]
    for wrap in (lambda f: f, jax.jit):
        native = wrap(lambda x: f(x))(x)
        with surrogate.override("jax", {op: square}):
            y, pull = jax.vjp(wrap(lambda x: f(x)), x)
            found = pull(jnp.ones_like(x))[0]
        np.testing.assert_array_equal(bits(y), bits(native))
        assert (y.dtype, found.dtype) == (x.dtype, x.dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("f", [jnp.mod, jnp.fmod, jnp.floor_divide, jnp.divmod, jnp.heaviside])
@pytest.mark.usefixtures("sixty_four_bits")
def test_forward_of_two_operands_is_bit_identical(f, dtype):
    x, y = (
        jnp.asarray(SPECIAL, dtype),
        jnp.asarray((1.5, -0.75, 3.0, np.inf, 2.0, 0.0, -2.0, 1.0, -7.0, 0.5), dtype),
    )
    rules = {"mod": "exact", "fmod": "exact", "floor_divide": "identity", "heaviside": "arctan"}
    native = jax.tree.leaves(jax.jit(f)(x, y))
    with surrogate.override("jax", rules):
        found = jax.tree.leaves(jax.vjp(jax.jit(f), x, y)[0])
    for got, expected in zip(found, native, strict=True):
        np.testing.assert_array_equal(bits(got), bits(expected))


@pytest.mark.usefixtures("sixty_four_bits")
def test_mixed_dtypes_get_cotangents_of_their_own():
    x, y = jnp.asarray([5.0, 7.0], jnp.float64), jnp.asarray([2.0, 3.0], jnp.float32)
    with surrogate.override("jax", {"mod": "exact"}):
        by_x, by_y = jax.grad(lambda x, y: (x % y).sum(), (0, 1))(x, y)
    assert (by_x.dtype, by_y.dtype) == (jnp.float64, jnp.float32)
    np.testing.assert_array_equal(by_y, [-2.0, -2.0])


SHAPES = [
    ((3,), ()),
    ((), (3,)),
    ((2, 3), (3,)),
    ((2, 1), (1, 3)),
    ((2, 3), (1, 1)),
    ((0,), ()),
    ((2, 0), (1,)),
]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_broadcast_operands_get_cotangents_of_their_shape(shapes):
    x, y = (jnp.full(shape, value, jnp.float32) for shape, value in zip(shapes, (5.0, 2.0), strict=True))
    size = jnp.broadcast_shapes(*shapes)
    count = int(np.prod(size))
    with surrogate.override("jax", {"mod": "exact"}):
        for run in (
            jax.grad(lambda x, y: (x % y).sum(), (0, 1)),
            jax.jit(jax.grad(lambda x, y: (x % y).sum(), (0, 1))),
        ):
            by_x, by_y = run(x, y)
            assert (by_x.shape, by_y.shape) == shapes
            assert (by_x.sum(), by_y.sum()) == (count, -2.0 * count)
        moved = jax.jvp(jnp.mod, (x, y), (jnp.ones_like(x), jnp.ones_like(y)))[1]
        np.testing.assert_array_equal(moved, np.full(size, -1.0))


@pytest.mark.parametrize("axes", [(0, None), (None, 0), (0, 0), (1, None), (None, 1)], ids=str)
def test_mapped_operands_of_different_ranks(axes):
    x = jnp.arange(1.0, 7.0).reshape(2, 3) if axes[0] is not None else jnp.arange(1.0, 4.0)
    y = jnp.asarray([[2.0, 3.0], [1.0, 2.0]]) if axes[1] is not None else jnp.float32(2)
    one = lambda x, y: jnp.mod(x[:, None] if jnp.ndim(x) else x, y).sum()  # noqa: E731
    with surrogate.override("jax", {"mod": "exact"}):
        found = jax.vmap(jax.grad(one, (0, 1)), axes)(x, y)
        size = next(v.shape[a] for v, a in zip((x, y), axes, strict=True) if a is not None)
        for i in range(size):
            given = [v if a is None else jnp.take(v, i, a) for v, a in zip((x, y), axes, strict=True)]
            for got, expected in zip(found, jax.grad(one, (0, 1))(*given), strict=True):
                np.testing.assert_array_equal(got[i], expected)


@pytest.mark.parametrize(
    "f", [jnp.sign, jnp.round, jnp.abs, lambda x: x % 2, lambda x: x // 2, lambda x: jnp.clip(x, 0, 1)]
)
def test_weak_types_are_kept(f):
    rules = {
        "sign": "identity",
        "round": "identity",
        "abs": "sign0",
        "mod": "exact",
        "floor_divide": "identity",
        "clip": "closed",
    }
    narrow = jnp.ones(3, jnp.bfloat16)

    def types():
        weak, strong = (jax.make_jaxpr(lambda v: f(v))(v).out_avals[0] for v in (1.5, np.float32(1.5)))
        product = jax.eval_shape(jax.jit(lambda v: narrow * f(v)), 1.5)
        return weak.weak_type, strong.weak_type, product.dtype

    native = types()
    with surrogate.override("jax", rules):
        assert types() == native
        assert jax.grad(lambda v: (narrow * f(v)).sum().astype(float))(1.5).dtype == jnp.float32


def test_integers_booleans_and_complex_numbers_stay_native():
    rules = {
        "sign": "identity",
        "round": "identity",
        "abs": "sign0",
        "mod": "exact",
        "clip": "closed",
        "floor_divide": "identity",
    }
    whole, z = jnp.asarray([-3, 0, 5]), jnp.asarray([1 + 2j, -0.5j])
    with surrogate.override("jax", rules) as active:
        for f in (
            jnp.sign,
            jnp.abs,
            jnp.round,
            lambda x: x % 2,
            lambda x: x // 2,
            lambda x: jnp.clip(x, 0, 1),
        ):
            np.testing.assert_array_equal(
                jax.jit(f)(whole), f(np.asarray(whole)) if f is not jnp.round else whole
            )
        gradient = jax.grad(lambda z: jnp.abs(jnp.sign(z)).sum())(z)
        jax.jit(jnp.round)(z)
        assert not +active.hits
        jax.make_jaxpr(lambda x: jnp.sign(x))(1.0)
    np.testing.assert_array_equal(gradient, jax.grad(lambda z: jnp.abs(jnp.sign(z)).sum())(z))


def test_integer_operand_beside_a_float_gets_float0():
    with surrogate.override("jax", {"mod": "exact"}):
        by_x, by_n = jax.grad(lambda x, n: (x % n).sum(), (0, 1), allow_int=True)(
            jnp.asarray([5.0, 7.0]), jnp.asarray([2, 3])
        )
    np.testing.assert_array_equal(by_x, [1.0, 1.0])
    assert by_n.dtype == jax.dtypes.float0


def test_numpy_inputs(squared):
    with surrogate.override("jax", {"sign": square}):
        np.testing.assert_array_equal(gradient_of(jnp.sign)(np.float32([-2, -0.5, 0.25, 0.75])), squared)


def test_infinite_upstream_is_selected_not_multiplied(x):
    with surrogate.override("jax", {"sign": "hardtanh", "clip": "closed"}):
        for f in (jnp.sign, lambda x: jnp.clip(x, -1, 1)):
            pull = jax.vjp(f, x)[1]
            np.testing.assert_array_equal(pull(jnp.full(4, jnp.inf))[0], [0, np.inf, np.inf, np.inf])


def test_sign_of_large_numbers_in_bfloat16():
    with surrogate.override("jax", {"sign": "hardtanh"}):
        assert jax.value_and_grad(jnp.sign)(jnp.bfloat16(300))[0] == 1
        assert jax.value_and_grad(jnp.sign)(jnp.float32(2e7))[0] == 1


#: op, gradient, function, other inputs, attributes
SIXTY_FOUR = [
    ("sign", "hardtanh", jnp.sign, (), {}),
    ("sign", "identity", jnp.sign, (), {}),
    ("sign", "tanh", jnp.sign, (), {}),
    ("sign", square, jnp.sign, (), {}),
    ("clip", "closed", lambda x: jnp.clip(x, -1.0, 1.0), (-1.0, 1.0), {}),
    ("mod", "exact", lambda x: x % 2.0, (2.0,), {}),
    ("floor_divide", "identity", lambda x: x // 2.0, (2.0,), {}),
    ("round", "sine", lambda x: jnp.round(x, 2), (), {"decimals": 2}),
]


@pytest.mark.parametrize(("op", "gradient", "f", "more", "attributes"), SIXTY_FOUR)
def test_float64_is_kept_where_a_derivative_runs_after_64_bits(op, gradient, f, more, attributes):
    with sixty_four_bits():
        x, g = (jnp.asarray(v) + 1e-9 for v in ([-2.0, -0.5, 0.25, 0.75], [1.0, 2.0, 3.0, 4.0]))
        with surrogate.override("jax", {op: gradient}):
            pull, linear = jax.vjp(f, x)[1], jax.linearize(f, x)[1]
            traced = jax.jit(lambda x, g: jax.vjp(f, x)[1](g)).trace(x, g)
    expected = surrogate.reference.vjp(op, gradient, np.asarray(x), *more, g=np.asarray(g), **attributes)[0]
    jitted = jax.jit(lambda pull, g: pull(g)[0])
    for found in (pull(g)[0], linear(g), jitted(pull, g), traced.lower().compile()(x, g)[0]):
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_weak_number_where_64_bits_were_switched_on_inside():
    """The native op computes in float64 there, also where it was traced on the same types before."""

    def f(x):
        with sixty_four_bits():
            return x % jnp.int32(3)

    with surrogate.override("jax", {"mod": "exact"}):
        jax.make_jaxpr(lambda x: x % jnp.int32(3))(1.5)
        assert jax.jit(f)(1.5).dtype == np.float64
