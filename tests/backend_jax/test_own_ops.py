"""Ops that JAX calls in its own composites and derivative rules keep their native gradient."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.example_libraries import optimizers
from jax.extend.core import jaxpr_as_fun
from jax.scipy.ndimage import map_coordinates
from jax_formulas import gradient_of

import surrogate

GRID = jnp.arange(16.0).reshape(4, 4) ** 2
MATRIX = jnp.asarray([[2.0, 1.0, 0.0], [0.5, -3.0, 1.0], [0.0, 0.25, 1.5]])
INIT, UPDATE, PARAMS = optimizers.adamax(0.125)
DECAY = optimizers.inverse_time_decay(0.125, 10, 0.5, staircase=True)
POINTS = jnp.asarray([-1.75, -0.5, 0.25, 1.5])


def passes(xp, x):
    return 1.0


#: Straight through everything that JAX uses inside.
EVERYTHING = dict.fromkeys(
    ("sign", "floor", "ceil", "round", "trunc", "abs", "clip", "relu", "mod", "fmod", "floor_divide"), passes
)

COMPOSITES = {
    "percentile": gradient_of(lambda x: jnp.percentile(x, jnp.asarray([30.0, 70.0]))),
    "percentile_of_q": lambda x: jax.grad(lambda q: jnp.percentile(x, q))(30.0),
    "quantile": gradient_of(lambda x: jnp.quantile(x, 0.4)),
    "median": gradient_of(jnp.median),
    "map_coordinates": gradient_of(lambda x: map_coordinates(GRID, [x + 2, x * 0.5 + 1], order=1)),
    "second_of_abs_by_lax_code": lambda x: jax.hessian(lambda x: jnp.linalg.norm(x, 1))(x),
    "soft_sign": gradient_of(jax.nn.soft_sign),
    "norm": gradient_of(jnp.linalg.norm),
    "i0_second": gradient_of(gradient_of(jnp.i0)),
    "slogdet": lambda x: jax.grad(lambda m: jnp.linalg.slogdet(m)[1])(MATRIX),
    "det": lambda x: jax.grad(jnp.linalg.det)(MATRIX),
    "sinc": gradient_of(jnp.sinc),
    "adamax": gradient_of(lambda x: PARAMS(UPDATE(0, x, INIT(x * 2)))),
    "inverse_time_decay": lambda x: jax.grad(DECAY)(1.25),
    "logaddexp": gradient_of(lambda x: jnp.logaddexp(x, -x)),
    "float_power": gradient_of(lambda x: jnp.float_power(jnp.square(x) + 1, x)),
    "cumlogsumexp": gradient_of(lambda x: lax.cumlogsumexp(x)),
    "hypot": gradient_of(lambda x: jnp.hypot(x, 1 + x)),
    "gelu_second": gradient_of(gradient_of(jax.nn.gelu)),
    "hard_sigmoid": gradient_of(jax.nn.hard_sigmoid),
    "interp": gradient_of(lambda x: jnp.interp(x, jnp.arange(-2.0, 3.0), jnp.arange(5.0) ** 2)),
    "var_of_image": gradient_of(lambda x: jax.image.resize(x.reshape(2, 2), (3, 5), "linear")),
    "logdet_cholesky": lambda x: jax.grad(lambda m: jnp.linalg.slogdet(m @ m.T)[1])(MATRIX),
    "expm": lambda x: jax.grad(lambda m: jax.scipy.linalg.expm(m).sum())(MATRIX),
    "random_uniform_bounds": gradient_of(
        lambda x: jax.random.uniform(jax.random.key(0), (4,), minval=x, maxval=9.0)
    ),
}

_traced_before = jax.make_jaxpr(lambda x: x * jax.nn.relu6(x))(POINTS)


def traced_before(x):
    """x * relu6(x), traced before there is any override."""
    return jaxpr_as_fun(_traced_before)(x)[0]


#: Rules that JAX's own derivative of an op would run into, if it were taken for the user's.
DERIVATIVES = {
    "second_of_abs": (gradient_of(gradient_of(jnp.abs)), "sign"),
    "hessian_of_abs": (lambda x: jax.hessian(lambda x: jnp.abs(x).sum())(x), "sign"),
    "second_of_fmod": (lambda x: jax.hessian(lambda y: jnp.fmod(x, y).sum())(0.75), "sign"),
    "first_of_rem": (lambda x: jax.grad(lambda y: jnp.fmod(x, y).sum())(0.75), "floor"),
    "floor_divide": (lambda x: jax.grad(lambda y: (x // y).sum())(0.75), "round"),
    "floor_divide_sign": (lambda x: jax.grad(lambda y: (x // y).sum())(0.75), "sign"),
    "trunc": (gradient_of(jnp.trunc), "floor"),
    "trunc_ceil": (gradient_of(jnp.trunc), "ceil"),
    "modf": (gradient_of(lambda x: sum(jnp.modf(x))), "floor"),
    "mod": (lambda x: jax.grad(lambda y: (x % y).sum())(0.75), "fmod"),
    "divmod": (lambda x: jax.grad(lambda y: sum(divmod(x, y)).sum())(0.75), "sign"),
    "relu6": (gradient_of(jax.nn.relu6), "clip"),
    "hard_sigmoid": (gradient_of(jax.nn.hard_sigmoid), "relu6"),
    "second_of_hard_swish": (gradient_of(gradient_of(jax.nn.hard_swish)), "relu6"),
    "second_of_relu6_traced_before": (gradient_of(gradient_of(traced_before)), "relu6"),
}


#: Those that make a point of their own without jit.
EAGER = ("percentile", "map_coordinates", "soft_sign", "i0_second", "slogdet")


@pytest.mark.parametrize(
    "f",
    [*map(jax.jit, COMPOSITES.values()), *(COMPOSITES[name] for name in EAGER)],
    ids=[*(f"jit-{name}" for name in COMPOSITES), *(f"eager-{name}" for name in EAGER)],
)
def test_composites_are_native(f):
    native = f(POINTS)
    with surrogate.override("jax", EVERYTHING) as active:
        found = f(POINTS)
        jax.make_jaxpr(lambda x: jnp.sign(x))(1.0)
    np.testing.assert_array_equal(found, native)
    assert +active.hits == {"sign": 1}


@pytest.mark.parametrize(("f", "op"), DERIVATIVES.values(), ids=DERIVATIVES)
def test_derivative_rules_are_native(f, op):
    native = f(POINTS)
    with surrogate.override("jax", {op: passes, "heaviside": "zero"}) as active:
        found = f(POINTS)
        jax.make_jaxpr(lambda x: jnp.heaviside(x, x))(1.0)
    np.testing.assert_array_equal(found, native)
    assert +active.hits == {"heaviside": 1}


def test_a_formula_may_call_the_op_it_is_for():
    def recursive(xp, x):
        return xp.sign(x) * xp.floor(x) + abs(x) + x % 2 + x // 2

    x = np.asarray(POINTS)
    expected = np.sign(x) * np.floor(x) + abs(x) + x % 2 + x // 2
    rules = dict.fromkeys(("sign", "floor", "abs", "mod", "floor_divide"), passes) | {"sign": recursive}
    with surrogate.override("jax", rules):
        for wrap in (lambda f: f, jax.jit, jax.vmap):
            f = gradient_of(jnp.sign) if wrap is not jax.vmap else jax.grad(jnp.sign)
            np.testing.assert_array_equal(wrap(f)(POINTS), expected)


def test_user_code_called_by_jax_is_the_users():
    with surrogate.override("jax", {"floor": "identity"}):
        found = jax.grad(lambda x: jnp.percentile(jnp.floor(x), 50.0, method="lower"))(POINTS)
    np.testing.assert_array_equal(found, [0.0, 1.0, 0.0, 0.0])
