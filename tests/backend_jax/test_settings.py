"""JAX's own settings: debugging, strictness, donation, and no jit at all."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax_formulas import gradient_of, square

import surrogate

FUNCTIONS = {
    "sign": jnp.sign,
    "round": jnp.round,
    "floor": jnp.floor,
    "ceil": jnp.ceil,
    "trunc": jnp.trunc,
    "mod": lambda x: x % 2,
    "fmod": lambda x: jnp.fmod(x, 2),
    "floor_divide": lambda x: x // 2,
    "heaviside": lambda x: jnp.heaviside(x, 0.5),
    "clip": lambda x: x.clip(-1, 1),
    "abs": abs,
}


@pytest.mark.parametrize("op", FUNCTIONS)
def test_disable_jit_refuses_jnp_functions(op, x):
    rule = surrogate.defaults("jax").get(op, "sign0")
    with (
        pytest.raises(surrogate.UnsupportedOpError, match="jax_disable_jit"),
        surrogate.override("jax", {op: rule}),
        jax.disable_jit(),
    ):
        gradient_of(FUNCTIONS[op])(x)


@pytest.mark.parametrize("name", ["divmod", "modf"])
def test_disable_jit_refuses_functions_of_several_results(name, x):
    f = {"divmod": lambda x: divmod(x, 2)[1], "modf": lambda x: jnp.modf(x)[1]}[name]
    op = {"divmod": "mod", "modf": "trunc"}[name]
    with (
        pytest.raises(surrogate.UnsupportedOpError, match=name),
        surrogate.override("jax", {op: surrogate.defaults("jax")[op]}),
        jax.disable_jit(),
    ):
        gradient_of(f)(x)


def test_disable_jit_captures_lax_and_nn(x, squared):
    with surrogate.override("jax", {"sign": square, "relu": square, "relu6": square}), jax.disable_jit():
        for f in (lax.sign, jax.nn.relu, jax.nn.relu6):
            np.testing.assert_array_equal(gradient_of(f)(x), squared)


def test_disable_jit_leaves_other_functions_alone(x):
    with jax.disable_jit():
        native = gradient_of(jax.nn.soft_sign)(x)
    with surrogate.override("jax", {"abs": lambda xp, x: 5.0}), jax.disable_jit():
        found = gradient_of(jax.nn.soft_sign)(x)
        gradient_of(lambda x: jnp.clip(x, -9, 9))(x)
        gradient_of(lax.abs)(x)
    np.testing.assert_array_equal(found, native)


@pytest.mark.parametrize("setting", ["jax_debug_nans", "jax_enable_checks", "jax_check_tracer_leaks"])
def test_debugging(setting, x, squared):
    before = getattr(jax.config, setting)
    jax.config.update(setting, True)
    try:
        with surrogate.override("jax", {"sign": square, "mod": "exact", "clip": "closed"}):
            for wrap in (lambda f: f, jax.jit, jax.vmap, jax.checkpoint):
                np.testing.assert_array_equal(gradient_of(wrap(lambda x: jnp.sign(x)))(x), squared)
            run = jax.jit(jax.grad(lambda x: jax.vmap(lambda v: jnp.clip(v % 2, 0, 1))(x).sum()))
            assert np.isfinite(run(x)).all()
            assert np.isfinite(jax.hessian(lambda x: jnp.sign(x).sum())(x)).all()
    finally:
        jax.config.update(setting, before)


def test_strict_promotion(x, squared):
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        with surrogate.override("jax", {"sign": square, "mod": "exact"}):
            np.testing.assert_array_equal(jax.jit(gradient_of(jnp.sign))(x), squared)
            rows = jax.vmap(jax.grad(lambda x, y: (x % y).sum(), 1), (0, None))(jnp.stack([x, x]), x)
    np.testing.assert_array_equal(rows, [[-1.0] * 4] * 2)


def test_donation(x, squared):
    run = jax.jit(gradient_of(jnp.sign), donate_argnums=0)
    with surrogate.override("jax", {"sign": square}):
        np.testing.assert_array_equal(run(x + 0), squared)
    np.testing.assert_array_equal(run(x + 0), np.zeros(4))


def test_parameters_that_are_traced():
    """Bounds that a scan carries and a cond chooses leak no tracer and get their own gradient."""

    def f(x, lo):
        def body(lo, v):
            return lo + 0.25, lax.cond(v > 0, lambda v, lo: jnp.clip(v, lo, 1.0), lambda v, lo: v, v, lo)

        return lax.scan(body, lo, x)[1].sum()

    x = jnp.asarray([0.5, 0.125, -1.0, 2.0], jnp.float32)
    with surrogate.override("jax", {"clip": "closed"}), jax.checking_leaks():
        by_x, by_lo = jax.jit(jax.grad(f, (0, 1)))(x, jnp.float32(0))
    np.testing.assert_array_equal(by_x, [1.0, 0.0, 1.0, 0.0])
    assert by_lo == 1


def test_clip_scalar_bound_that_is_traced_has_a_scalar_gradient():
    with surrogate.override("jax", {"clip": "closed"}):
        found = jax.jit(jax.grad(lambda lo, x: jnp.clip(x, lo, 1.0).sum()))(
            0.5, jnp.asarray([0.0, 0.25, 2.0])
        )
    assert (found.shape, float(found)) == ((), 2.0)


def test_without_jit_heaviside_of_a_number_is_refused_too():
    """Only the value at 0 is traced: all that JAX does with it is a selection."""
    with jax.disable_jit(), surrogate.override("jax", {"heaviside": "arctan", "sign": "identity"}):
        jax.grad(lax.sign)(1.0)
        with pytest.raises(surrogate.UnsupportedOpError, match=r"jnp\.heaviside"):
            jax.grad(lambda value: jnp.heaviside(0.0, value))(0.5)
