"""Rules of custom_jvp, custom_vjp and custom_vmap run after the call: they obey what was in force there."""

import contextlib
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.extend.core import jaxpr_as_fun
from jax_formulas import gradient_of, square

import surrogate

ONES = np.ones(4, np.float32)


def vjp_in_fwd():
    f = jax.custom_vjp(lambda x: jnp.sign(x))
    f.defvjp(lambda x: jax.vjp(jnp.sign, x), lambda pull, g: pull(g))
    return f


def vjp_in_bwd(**options):
    f = jax.custom_vjp(lambda x: jnp.sign(x))
    f.defvjp(lambda x: (jnp.sign(x), x), lambda x, g: jax.vjp(jnp.sign, x)[1](g), **options)
    return f


def vjp_of_an_argument():
    f = jax.custom_vjp(lambda h, x: h(x), nondiff_argnums=(0,))
    f.defvjp(lambda h, x: (h(x), x), lambda h, x, g: jax.vjp(h, x)[1](g))
    return lambda x: f(jnp.sign, x)


def jvp(**options):
    f = jax.custom_jvp(lambda x: jnp.sign(x))
    f.defjvp(lambda p, t: (f(*p), jax.jvp(jnp.sign, p, t)[1]), **options)
    return f


def custom_gradient():
    return jax.custom_gradient(lambda x: (jnp.sign(x), lambda g: jax.vjp(jnp.sign, x)[1](g)))


FUNCTIONS = {
    "vjp_in_fwd": vjp_in_fwd(),
    "vjp_in_bwd": vjp_in_bwd(),
    "vjp_optimized_for_checkpoints": vjp_in_bwd(optimize_remat=True),
    "vjp_of_an_argument": vjp_of_an_argument(),
    "jvp": jvp(),
    "jvp_with_symbolic_zeros": jvp(symbolic_zeros=True),
    "custom_gradient": custom_gradient(),
}
functions = pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)

WRAPS = {
    "eager": lambda f: f,
    "jit": jax.jit,
    "checkpoint": jax.checkpoint,
    "vmap": jax.vmap,
    "scan": lambda f: lambda x: lax.scan(lambda c, v: (c, f(v)), 0.0, x)[1],
    "cond": lambda f: lambda x: lax.cond(x[0] < 0, f, jnp.zeros_like, x),
}


#: Functions of which the op runs in the backward only. Run eagerly, that is after the block: docs/limits.md.
IN_THE_BACKWARD = [FUNCTIONS["vjp_in_bwd"], FUNCTIONS["vjp_of_an_argument"]]


def told(f):
    """What the block of an override tells of a call that is not traced."""
    nothing = pytest.warns(surrogate.NothingCapturedWarning, match="no sign ran while a gradient")
    return nothing if f in IN_THE_BACKWARD else contextlib.nullcontext()


def under(rule, f):
    def run(x):
        with surrogate.override("jax", {"sign": rule}):
            return f(x)

    return run


def seven(xp, x):
    return 7.0


@functions
@pytest.mark.parametrize("wrap", WRAPS.values(), ids=WRAPS)
def test_a_block_inside_is_not_left_by_the_derivative(f, wrap, x, squared):
    with told(f) if wrap is WRAPS["eager"] else contextlib.nullcontext():
        np.testing.assert_array_equal(gradient_of(wrap(under(square, f)))(x), squared)


@functions
@pytest.mark.parametrize("wrap", WRAPS.values(), ids=WRAPS)
def test_a_hole_inside_is_not_left_by_the_derivative(f, wrap, x):
    with surrogate.override("jax", {"sign": square}):
        jax.make_jaxpr(lambda x: jnp.sign(x))(x)
        np.testing.assert_array_equal(gradient_of(wrap(under("native", f)))(x), 0 * ONES)


@functions
def test_a_pullback_obeys_the_rules_of_its_forward(f, x, squared):
    native = jax.vjp(f, x)[1]
    with told(f), surrogate.override("jax", {"sign": square}):
        pull, linear = jax.vjp(f, x)[1], jax.linearize(f, x)[1]
    np.testing.assert_array_equal(pull(ONES)[0], squared)
    with surrogate.override("jax", {"sign": seven}):
        jax.make_jaxpr(lambda x: jnp.sign(x))(x)
        np.testing.assert_array_equal(pull(ONES)[0], squared)
        np.testing.assert_array_equal(jax.linear_transpose(linear, x)(ONES)[0], squared)
        np.testing.assert_array_equal(native(ONES)[0], 0 * ONES)


@functions
def test_a_jaxpr_obeys_the_rules_it_was_made_under(f, x, squared):
    with surrogate.override("jax", {"sign": square}):
        jaxpr = jax.make_jaxpr(lambda x: f(x))(x)
    run = gradient_of(lambda x: jaxpr_as_fun(jaxpr)(x)[0])
    with surrogate.override("jax", {"sign": seven}):
        jax.make_jaxpr(lambda x: jnp.sign(x))(x)
        np.testing.assert_array_equal(run(x), squared)
    np.testing.assert_array_equal(run(x), squared)


def test_a_batching_rule_obeys_the_rules_of_the_call(x, squared):
    f = jax.custom_batching.custom_vmap(lambda x: 2 * jnp.sign(x))
    f.def_vmap(lambda size, batched, x: (jnp.sign(x), True))
    mapped = jax.vmap(jax.jit(under(square, f)))
    np.testing.assert_array_equal(jax.jvp(mapped, (x,), (ONES,))[1], squared)


def test_a_formula_with_derivative_rules_of_its_own_sees_no_rules(x):
    """The second derivative runs the rule; the sign in there is the formula's."""

    @jax.custom_jvp
    def cube(x):
        return x**3

    cube.defjvp(lambda p, t: (cube(*p), 3 * p[0] ** 2 * t[0] + jax.jvp(jnp.sign, p, t)[1]))

    def formula(xp, x):
        return cube(x) if isinstance(x, jax.Array) else x**3

    with surrogate.override("jax", {"sign": formula}):
        for wrap in (lambda f: f, jax.jit, jax.checkpoint):
            second = gradient_of(wrap(gradient_of(functools.partial(jnp.sign))))(x)
            np.testing.assert_array_equal(second, 3 * np.square(x))


def test_rules_that_are_missing_are_jax_s_error():
    with pytest.raises(AttributeError, match="defvjp"):
        jax.custom_vjp(lambda x: x)(1.0)
