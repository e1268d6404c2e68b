"""Compiled and traced objects are never stale, equal rules are traced once, and nothing piles up."""

import gc
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.extend.core import jaxpr_as_fun
from jax_formulas import gradient_of

import surrogate

ONE = np.ones(4, np.float32)


def made():
    """Objects that JAX caches behind: one function each, made once per test."""

    def f(x):
        return jnp.sign(x)

    def body(total, v):
        return total + jnp.sign(v), None

    def branch(x):
        return jnp.sign(x)

    @jax.custom_vjp
    def custom(x):
        return jnp.sign(x)

    custom.defvjp(lambda x: (f(x), x), lambda x, g: jax.vjp(f, x)[1](g))
    both = jax.jit(jax.value_and_grad(lambda x: f(x).sum()))
    jitted, checkpointed = jax.jit(f), jax.checkpoint(f)
    return {
        "jit_of_grad": jax.jit(gradient_of(f)),
        "grad_of_jit": gradient_of(jitted),
        "jit_of_grad_of_jit": jax.jit(gradient_of(jitted)),
        "grad": gradient_of(f),
        "value_and_grad": lambda x: both(x)[1],
        "jvp_of_jit": lambda x: jax.jvp(jitted, (x,), (ONE,))[1],
        "linearize_of_jit": lambda x: jax.linearize(jitted, x)[1](ONE),
        "scan": jax.grad(lambda x: lax.scan(body, jnp.float32(0), x)[0]),
        "checkpoint": gradient_of(checkpointed),
        "cond": gradient_of(lambda x: lax.cond(x[0] < 0, branch, branch, x)),
        "vmap_of_jit": jax.vmap(jax.grad(jax.jit(f))),
        "custom_vjp": jax.jit(gradient_of(custom)),
        "eager_sign": gradient_of(jnp.sign),
    }


@pytest.mark.parametrize("name", made())
@pytest.mark.parametrize("order", ["0102030", "1012021", "2103", "0011022"])
def test_one_object_in_every_order(name, order, x):
    run = made()[name]
    for rule in order:
        expected = np.full(4, float(rule), np.float32)
        if rule == "0":
            found = run(x)
        else:
            with surrogate.override("jax", {"sign": _constants[rule]}):
                found = run(x)
        np.testing.assert_array_equal(found, expected)


_constants = {"1": lambda xp, x: 1.0, "2": lambda xp, x: 2.0, "3": lambda xp, x: 3.0}


def test_process_default_local_override_and_hole_on_one_object(x):
    run = jax.jit(gradient_of(lambda x: jnp.sign(x)))
    with surrogate.use("jax", {"sign": _constants["2"]}):
        np.testing.assert_array_equal(run(x), 2 * ONE)
        with surrogate.override("jax", {"sign": _constants["3"]}):
            np.testing.assert_array_equal(run(x), 3 * ONE)
            with surrogate.override("jax", {"sign": "native"}):
                np.testing.assert_array_equal(run(x), 0 * ONE)
        np.testing.assert_array_equal(run(x), 2 * ONE)
    np.testing.assert_array_equal(run(x), 0 * ONE)


def test_decided_when_traced_not_when_differentiated(x):
    def inside(x):
        with surrogate.override("jax", {"sign": "identity"}):
            return jnp.sign(x)

    def hole(x):
        with surrogate.override("jax", {"sign": "native"}):
            return jnp.sign(x)

    for wrap in (lambda f: f, jax.jit, jax.checkpoint):
        np.testing.assert_array_equal(gradient_of(wrap(inside))(x), ONE)
        with surrogate.override("jax", {"sign": _constants["2"]}):
            np.testing.assert_array_equal(gradient_of(wrap(inside))(x), ONE)
            np.testing.assert_array_equal(gradient_of(wrap(hole))(x), 0 * ONE)
            jax.make_jaxpr(lambda x: jnp.sign(x))(x)


def test_what_was_made_inside_keeps_the_rule_outside(x):
    with surrogate.override("jax", {"sign": "identity"}):
        pull = jax.vjp(jnp.sign, x)[1]
        linear = jax.linearize(jnp.sign, x)[1]
        compiled = jax.jit(gradient_of(jnp.sign)).lower(x).compile()
        jaxpr = jax.make_jaxpr(lambda x: jnp.sign(x))(x)
    np.testing.assert_array_equal(pull(ONE)[0], ONE)
    np.testing.assert_array_equal(linear(ONE), ONE)
    np.testing.assert_array_equal(compiled(x), ONE)
    np.testing.assert_array_equal(_replayed(jaxpr)(x), ONE)


def test_what_was_made_outside_stays_native_inside(x):
    pull = jax.vjp(jnp.sign, x)[1]
    jaxpr = jax.make_jaxpr(lambda x: jnp.sign(x))(x)
    with surrogate.override("jax", {"sign": "identity"}):
        np.testing.assert_array_equal(pull(ONE)[0], 0 * ONE)
        np.testing.assert_array_equal(_replayed(jaxpr)(x), 0 * ONE)
        jax.make_jaxpr(lambda x: jnp.sign(x))(x)


def _replayed(jaxpr):
    return gradient_of(lambda x: jaxpr_as_fun(jaxpr)(x)[0])


def test_equal_rules_made_anew_do_not_trace_again(x):
    traced = []

    def f(x):
        traced.append(1)
        return jnp.sign(x).sum()

    run = jax.jit(jax.value_and_grad(f))
    for _ in range(5):
        with surrogate.override("jax", {"sign": f"hardtanh(width={1.5!r})"}):
            run(x)
        with surrogate.use("jax", {"sign": surrogate.gradient("sign", "hardtanh(width=1.5)")}):
            run(x)
        run(x)
    assert len(traced) == 3  # in an override, under use(), native


def test_equal_scaled_rules_do_not_trace_again(x):
    traced = []

    def f(x):
        traced.append(1)
        return jnp.round(x, 2).sum()

    run = jax.jit(jax.grad(f))
    for _ in range(3):
        with surrogate.override("jax", {"round": "sine"}):
            run(x)
        gc.collect()
    assert len(traced) == 1


def test_a_rule_that_is_used_once_goes_with_the_caches(x):
    def once():
        gradient = surrogate.gradient("sign", lambda xp, x: 2.0)
        with surrogate.override("jax", {"sign": gradient}):
            jax.jit(gradient_of(jnp.sign))(x)
        return weakref.ref(gradient.rule)

    alive = [once() for _ in range(5)]
    jax.clear_caches()
    gc.collect()
    surrogate.load_backend("jax").store.seen.clear()
    gc.collect()
    assert [ref() for ref in alive] == [None] * 5


def test_equal_rules_do_not_pile_up(x):
    run = jax.jit(gradient_of(lambda x: jnp.sign(x)))
    for _ in range(50):
        with surrogate.override("jax", {"sign": "hardtanh(width=3.25)"}):
            run(x)
    gc.collect()
    alive = [o for o in gc.get_objects() if isinstance(o, surrogate.RuleSet) and "3.25" in repr(o)]
    assert len(alive) <= 1
