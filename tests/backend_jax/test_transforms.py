"""An op gets its rule in every transformation of JAX, and in their compositions."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax_formulas import gradient_of, square, upstream_square

import surrogate


def scanned(x):
    return lax.scan(lambda total, v: (total + jnp.sign(v), jnp.sign(v)), jnp.float32(0), x)[1]


def accumulated(x):
    return lax.scan(lambda total, v: (total + jnp.sign(v), None), jnp.float32(0), x)[0]


@jax.custom_vjp
def by_custom_vjp(x):
    return jnp.sign(x)


by_custom_vjp.defvjp(lambda x: jax.vjp(jnp.sign, x), lambda pull, g: pull(g))


@jax.custom_jvp
def by_custom_jvp(x):
    return jnp.sign(x)


by_custom_jvp.defjvp(lambda p, t: (by_custom_jvp(*p), jax.jvp(jnp.sign, p, t)[1]))


def converted(x):
    closed, consts = jax.closure_convert(lambda x: jnp.sign(x), x)
    return closed(x, *consts)


def checkpointed(policy):
    return jax.checkpoint(lambda x: jnp.sign(x), policy=getattr(jax.checkpoint_policies, policy))


def ones(x):
    return jnp.ones_like(x)


def pulled(f):
    return lambda x: jax.vjp(f, x)[1](ones(x))[0]


#: Ways to the derivative that need reverse mode alone.
REVERSE = {
    "grad": gradient_of(jnp.sign),
    "value_and_grad": lambda x: jax.value_and_grad(lambda x: jnp.sign(x).sum())(x)[1],
    "vjp": pulled(jnp.sign),
    "jacrev": lambda x: jax.jacrev(jnp.sign)(x).sum(0),
    "linear_transpose": lambda x: jax.linear_transpose(jax.linearize(jnp.sign, x)[1], x)(ones(x))[0],
    "vmap_of_grad": jax.vmap(jax.grad(jnp.sign)),
    "grad_of_vmap": gradient_of(jax.vmap(jnp.sign)),
    "vmap_of_vmap_of_grad": lambda x: jax.vmap(jax.vmap(jax.grad(jnp.sign)))(x.reshape(2, 2)).ravel(),
    "vmap_of_pullback": lambda x: jax.vmap(jax.vjp(jnp.sign, x)[1])(jnp.eye(4))[0].sum(0),
    "vmap_last_axis": lambda x: jax.vmap(pulled(jnp.sign), in_axes=1, out_axes=1)(x[None])[0],
    "jit": jax.jit(gradient_of(jnp.sign)),
    "grad_of_jit": gradient_of(jax.jit(lambda x: jnp.sign(x))),
    "jit_in_jit": jax.jit(gradient_of(lambda x: jax.jit(lambda x: jax.jit(jnp.sign)(x))(x))),
    "inlined_jit": gradient_of(jax.jit(lambda x: jnp.sign(x), inline=True)),
    "scan_inputs": gradient_of(scanned),
    "scan_carry": jax.grad(accumulated),
    "scan_unrolled": jax.grad(lambda x: lax.scan(lambda c, v: (c + jnp.sign(v), None), 0.0, x, unroll=2)[0]),
    "scan_of_checkpoint": jax.grad(
        lambda x: lax.scan(jax.checkpoint(lambda c, v: (c + jnp.sign(v), None)), jnp.float32(0), x)[0]
    ),
    "fori": gradient_of(lambda x: lax.fori_loop(0, 1, lambda i, c: jnp.sign(c), x)),
    "cond": gradient_of(lambda x: lax.cond(x[0] < 0, jnp.sign, lambda x: x, x)),
    "switch": jax.jit(gradient_of(lambda x: lax.switch((x[0] < 0).astype(int), [lambda x: x, jnp.sign], x))),
    "map": gradient_of(lambda x: lax.map(jnp.sign, x)),
    "map_batched": gradient_of(lambda x: lax.map(jnp.sign, x, batch_size=2)),
    "checkpoint_everything": gradient_of(checkpointed("everything_saveable")),
    "checkpoint_nothing": gradient_of(checkpointed("nothing_saveable")),
    "checkpoint_dots": jax.jit(gradient_of(checkpointed("dots_saveable"))),
    "custom_vjp": gradient_of(by_custom_vjp),
    "custom_jvp": gradient_of(by_custom_jvp),
    "closure_convert": gradient_of(converted),
    "aot": lambda x: jax.jit(gradient_of(jnp.sign)).lower(x).compile()(x),
    "aot_trace": lambda x: jax.jit(gradient_of(jnp.sign)).trace(x).lower().compile()(x),
    "reduce": lambda x: jnp.concatenate(
        [x[:1] ** 2, jax.grad(lambda x: functools.reduce(lambda a, b: a + jnp.sign(b), list(x)))(x)[1:]]
    ),
}

#: Ways that need forward mode.
FORWARD = {
    "jvp": lambda x: jax.jvp(jnp.sign, (x,), (ones(x),))[1],
    "jvp_of_jit": lambda x: jax.jvp(jax.jit(lambda x: jnp.sign(x)), (x,), (ones(x),))[1],
    "jit_of_jvp": jax.jit(lambda x: jax.jvp(jnp.sign, (x,), (ones(x),))[1]),
    "jacfwd": lambda x: jax.jacfwd(jnp.sign)(x).sum(0),
    "linearize": lambda x: jax.linearize(jnp.sign, x)[1](ones(x)),
    "vmap_of_jvp": jax.vmap(lambda v: jax.jvp(jnp.sign, (v,), (jnp.float32(1),))[1]),
    "while": lambda x: jax.jvp(
        lambda x: lax.while_loop(lambda c: c[0] < 1, lambda c: (c[0] + 1, jnp.sign(c[1])), (0, x))[1],
        (x,),
        (ones(x),),
    )[1],
    "scan_forward": lambda x: jax.jvp(scanned, (x,), (ones(x),))[1],
    "custom_jvp_forward": lambda x: jax.jvp(by_custom_jvp, (x,), (ones(x),))[1],
    "checkpoint_forward": lambda x: jax.jvp(checkpointed("nothing_saveable"), (x,), (ones(x),))[1],
}

#: Ways to the second derivative; those in reverse mode alone come first.
SECOND_REVERSE = {
    "grad_of_grad": gradient_of(gradient_of(jnp.sign)),
    "jit_of_grad_of_grad": jax.jit(gradient_of(gradient_of(jnp.sign))),
    "grad_of_jit_of_grad": gradient_of(jax.jit(gradient_of(jnp.sign))),
    "grad_of_grad_of_jit": gradient_of(gradient_of(jax.jit(lambda x: jnp.sign(x)))),
    "grad_of_grad_of_scan": gradient_of(gradient_of(scanned)),
    "grad_of_grad_of_checkpoint": gradient_of(gradient_of(checkpointed("nothing_saveable"))),
    "vmap_of_grad_of_grad": jax.vmap(jax.grad(jax.grad(jnp.sign))),
    "grad_of_grad_of_cond": gradient_of(gradient_of(lambda x: lax.cond(x[0] < 0, jnp.sign, lambda x: x, x))),
}
SECOND_FORWARD = {
    "hessian": lambda x: jnp.diagonal(jax.hessian(lambda x: jnp.sign(x).sum())(x)),
    "hessian_of_scan": lambda x: jnp.diagonal(jax.hessian(lambda x: scanned(x).sum())(x)),
    "jacrev_of_jacfwd": lambda x: jnp.diagonal(jax.jacrev(jax.jacfwd(jnp.sign))(x).sum(0)),
    "jacfwd_of_jacfwd": lambda x: jnp.diagonal(jax.jacfwd(jax.jacfwd(jnp.sign))(x).sum(0)),
    "hessian_vector_product": lambda x: jax.jvp(gradient_of(jnp.sign), (x,), (ones(x),))[1],
}


def names(table):
    return pytest.mark.parametrize("way", list(table.values()), ids=list(table))


@names(REVERSE | FORWARD)
def test_first_derivative(way, x, squared):
    with surrogate.override("jax", {"sign": square}):
        np.testing.assert_array_equal(way(x), squared)


@names(REVERSE)
def test_upstream_rule_in_reverse(way, x, squared):
    with surrogate.override("jax", {"sign": upstream_square}):
        np.testing.assert_array_equal(way(x), squared)


@names(FORWARD)
def test_upstream_rule_refuses_forward_mode(way, x):
    with (
        surrogate.override("jax", {"sign": upstream_square}),
        pytest.raises(surrogate.ForwardModeError, match="upstream=True"),
    ):
        way(x)


@names(REVERSE | FORWARD)
def test_native_after_the_block(way, x):
    with surrogate.override("jax", {"sign": square}):
        way(x)
    np.testing.assert_array_equal(way(x)[1:], np.zeros(3))


@names(SECOND_REVERSE | SECOND_FORWARD)
def test_second_derivative_is_that_of_the_formula(way, x):
    with surrogate.override("jax", {"sign": square}):
        np.testing.assert_array_equal(way(x), 2 * x)


@names(SECOND_REVERSE)
def test_second_derivative_of_an_upstream_rule(way, x):
    with surrogate.override("jax", {"sign": upstream_square}):
        np.testing.assert_array_equal(way(x), 2 * x)


def test_third_derivative(x):
    with surrogate.override("jax", {"sign": square}):
        np.testing.assert_array_equal(jax.vmap(jax.grad(jax.grad(jax.grad(jnp.sign))))(x), [2.0] * 4)
        np.testing.assert_array_equal(jax.vmap(jax.jacfwd(jax.hessian(jnp.sign)))(x), [2.0] * 4)


def test_window_has_second_derivative_zero(x):
    with surrogate.override("jax", {"sign": "hardtanh"}):
        np.testing.assert_array_equal(jax.hessian(lambda x: jnp.sign(x).sum())(x), np.zeros((4, 4)))


def test_both_modes_in_one_rule(x):
    """A vjp that is not the transpose of a linear map: the upstream gradient is clipped."""

    def clipped(xp, g, x):
        return xp.minimum(g, 0.5)

    with surrogate.override("jax", {"sign": clipped}):
        np.testing.assert_array_equal(gradient_of(jnp.sign)(x), [0.5] * 4)
        np.testing.assert_array_equal(jax.jit(jax.vmap(jax.grad(jnp.sign)))(x), [0.5] * 4)


def test_gradient_inside_a_gradient_sees_its_own_rule(x):
    def inner(x):
        with surrogate.override("jax", {"sign": "identity"}):
            return gradient_of(jnp.sign)(x) * jnp.sign(x)

    won = pytest.warns(surrogate.NothingCapturedWarning, match="won, with 'identity'")
    with won, surrogate.override("jax", {"sign": square}):
        np.testing.assert_array_equal(gradient_of(inner)(x), [1.0] * 4)
