"""What the kit's check of every spelling does not say: who holds a function, numbers, several results."""

import functools
import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.nn import relu as relu_imported_before, relu6
from jax.numpy import sign as sign_imported_before
from jax_formulas import gradient_of, square, upstream_square

import surrogate

#: Functions that were traced by jit before any override was made.
traced_before = jax.jit(lambda x: jnp.sign(x))
traced_before(np.float32(1))


def with_default(x, activation=jnp.sign):
    return activation(x)


def planes(xp, x, y):
    """(x^2, xy): tells the operands apart, and is exact."""
    return x * x, x * y


HELD = {
    "imported_before": ("sign", sign_imported_before),
    "traced_before": ("sign", traced_before),
    "default_argument": ("sign", with_default),
    "partial": ("sign", functools.partial(with_default)),
    "built-in map": ("sign", lambda x: jnp.stack(list(map(jnp.sign, x)))),
    "lax_map": ("sign", lambda x: lax.map(jnp.sign, x)),
    "piecewise": ("sign", lambda x: jnp.piecewise(x, [x < 0], [jnp.sign, jnp.sign])),
    "eval": ("sign", lambda x: eval("jnp.sign(x)")),
    "built-in round": ("round", lambda x: jnp.stack([round(v, 0) for v in x])),
    "relu": ("relu", relu_imported_before),
    "relu6": ("relu6", relu6),
}
SPELLINGS = [
    pytest.param(op, f, id=f"{op}-{name}")
    for op in ("sign", "round", "floor", "ceil", "trunc", "abs", "relu", "relu6")
    for name, f in surrogate.load_backend("jax").driver().spellings(op).items()
    if not isinstance(f, surrogate.Spelling)
]


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
@pytest.mark.parametrize(("op", "f"), HELD.values(), ids=HELD)
def test_whoever_holds_the_function(op, f, wrap, x, squared):
    with surrogate.override("jax", {op: square}):
        y, pull = wrap(lambda x: jax.vjp(f, x))(x)
        np.testing.assert_array_equal(pull(jnp.ones_like(x))[0], squared)
    np.testing.assert_array_equal(y, f(x))


@pytest.mark.parametrize(("op", "f"), SPELLINGS)
def test_upstream_and_native_in_a_hole(op, f, x, squared):
    """Every spelling, beside what the kit checks of it."""
    native = gradient_of(f)(x)
    with surrogate.override("jax", {op: upstream_square}):
        np.testing.assert_array_equal(gradient_of(f)(x), squared)
        with surrogate.override("jax", {op: "native"}):
            np.testing.assert_array_equal(gradient_of(f)(x), native)


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda x: jnp.clip(x, -1.0, None), [0, 1, 1, 1]),
        (lambda x: jnp.clip(x, None, 0.5), [1, 1, 1, 0]),
        (lambda x: x.clip(max=0.5), [1, 1, 1, 0]),
        (lambda x: x.clip(-1, 1), [0, 1, 1, 1]),
        (lambda x: jnp.clip(x), [1, 1, 1, 1]),
        (lambda x: lax.clamp(-0.5, x, 0.25), [0, 1, 1, 0]),
        (lambda x: jnp.clip(x, x, 0.5), [1, 1, 1, 0]),
    ],
    ids=["no_upper", "no_lower", "method", "integers", "no_bounds", "ties", "traced_lower"],
)
def test_clip_with_bounds_that_are_numbers_or_missing(f, expected, x):
    with surrogate.override("jax", {"clip": "closed", "sign": "zero"}):
        jax.make_jaxpr(jnp.sign)(x)  # clip without bounds is no operation at all
        np.testing.assert_array_equal(gradient_of(f)(x), expected)


@pytest.mark.parametrize(
    ("op", "f", "expected"),
    [
        ("mod", lambda x: 2.0 % x, lambda x: -np.floor(2.0 / x)),
        ("mod", lambda x: 2 % x, lambda x: -np.floor(2.0 / x)),
        ("mod", lambda x: x % 2, np.ones_like),
        ("mod", lambda x: np.float32(2) % x, lambda x: -np.floor(2.0 / x)),
        ("floor_divide", lambda x: 2 // x, lambda x: -2.0 / (x * x)),
        ("floor_divide", lambda x: x // 2.0, lambda x: np.full_like(x, 0.5)),
        ("fmod", lambda x: jnp.fmod(x, 0.5), np.ones_like),
        ("heaviside", lambda x: jnp.heaviside(jnp.zeros_like(x), x), np.ones_like),
    ],
    ids=[
        "reflected_mod",
        "integer_mod",
        "mod_integer",
        "numpy_mod",
        "reflected_floor_divide",
        "floor_divide",
        "fmod",
        "heaviside_values",
    ],
)
def test_scalars_and_reflected_operators(op, f, expected, x):
    with surrogate.override("jax", {op: surrogate.defaults("jax")[op]}):
        np.testing.assert_array_equal(gradient_of(f)(x), expected(np.asarray(x)))


@pytest.mark.parametrize("decimals", [1, 2, -1, 3])
def test_round_with_decimals_is_evaluated_at_the_scaled_input(decimals, x):
    f = functools.partial(jnp.round, decimals=decimals)
    with surrogate.override("jax", {"round": square}):
        y, pull = jax.vjp(f, x)
        found = pull(jnp.ones_like(x))[0]
        mapped = jax.vmap(jax.grad(f))(x)
    expected = surrogate.reference.vjp("round", square, x, decimals=decimals)[0]
    np.testing.assert_allclose(found, expected, rtol=3e-7)
    np.testing.assert_array_equal(mapped, found)
    np.testing.assert_array_equal(y, f(x))


def test_round_to_more_decimals_than_the_dtype_has():
    """JAX rounds nothing then, with gradient 1; older versions multiply by infinity, which is refused."""

    def run():
        with surrogate.override("jax", {"round": square, "sign": square}):
            jax.make_jaxpr(lambda x: jnp.sign(x))(1.0)
            return jax.grad(lambda x: jnp.round(x, 60))(np.float32(1))

    if "log10" in inspect.getsource(jnp.round):
        assert run() == 1
    else:
        with np.errstate(over="ignore"), pytest.raises(surrogate.UnsupportedOpError, match="decimals"):
            run()


def test_divmod_overrides_each_result_by_its_own_op(x):
    def both(x):
        quotient, rest = divmod(x, jnp.float32(2))
        return quotient * 4 + rest

    with surrogate.override("jax", {"mod": square}):
        np.testing.assert_array_equal(gradient_of(both)(x), x * x)
    with surrogate.override("jax", {"floor_divide": "identity", "mod": "identity"}):
        np.testing.assert_array_equal(gradient_of(both)(x), [3.0] * 4)


def test_modf_is_trunc_and_the_fmod_by_one(x):
    both = lambda x: jnp.modf(x)[0] + 4 * jnp.modf(x)[1]  # noqa: E731
    with surrogate.override("jax", {"trunc": "identity"}):
        np.testing.assert_array_equal(gradient_of(both)(x), [5.0] * 4)
    with surrogate.override("jax", {"fmod": planes}):
        np.testing.assert_array_equal(gradient_of(both)(x), x * x)


def test_hits_count_each_capture(x):
    with surrogate.override("jax", {"sign": "identity", "mod": "exact"}) as active:
        gradient_of(lambda x: jnp.sign(jnp.sign(x)) + x % 2)(x)
    assert active.hits == {"sign": 2, "mod": 1}
