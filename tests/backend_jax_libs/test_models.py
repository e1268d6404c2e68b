"""Models of flax, equinox and optax, defined and compiled before any override, get the rule and lose it."""

import equinox as eqx
import flax.linen as linen
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

import surrogate

X = np.linspace(-2, 2.5, 12, dtype=np.float32).reshape(4, 3)


class Binary(linen.Module):
    @linen.compact
    def __call__(self, x):
        x = jnp.sign(linen.Dense(3)(x))
        return linen.Dense(2)(x)


class BinaryNnx(nnx.Module):
    def __init__(self, rngs):
        self.first, self.last = nnx.Linear(3, 3, rngs=rngs), nnx.Linear(3, 2, rngs=rngs)

    def __call__(self, x):
        return self.last(jnp.sign(self.first(x)))


def linen_model():
    model = Binary()
    params = model.init(jax.random.key(0), X)
    run = jax.jit(jax.grad(lambda p: model.apply(p, X).sum()))
    return lambda: run(params)["params"]["Dense_0"]["kernel"]


def linen_remat():
    model = linen.remat(Binary)()
    params = model.init(jax.random.key(0), X)
    run = jax.jit(jax.grad(lambda p: model.apply(p, X).sum()))
    return lambda: jax.tree.leaves(run(params)["params"])[1]


def nnx_model():
    model = BinaryNnx(nnx.Rngs(0))
    run = nnx.jit(nnx.grad(lambda m: m(X).sum()))
    return lambda: jax.tree.leaves(run(model)["first"]["kernel"])[0]


def equinox_model():
    model = eqx.nn.MLP(3, 2, 4, 1, activation=jnp.sign, key=jax.random.key(0))
    run = eqx.filter_jit(eqx.filter_grad(lambda m: jax.vmap(m)(X).sum()))
    return lambda: run(model).layers[0].weight


def equinox_loop():
    def f(x):
        found = eqx.internal.while_loop(
            lambda c: c[0] < 2,
            lambda c: (c[0] + 1, jnp.sign(c[1]) * 0.5),
            (0, x),
            max_steps=2,
            kind="checkpointed",
        )
        return found[1].sum()

    run = eqx.filter_jit(jax.grad(f))
    return lambda: run(jnp.asarray(X * 0.25))


def optax_sign():
    """The gradient through a step of sign descent, by the step's own gradient."""
    descent = optax.sign_sgd(0.1)

    def after_a_step(w):
        updates, _ = descent.update(w * 2.0, descent.init(w))
        return optax.apply_updates(w, updates).sum()

    run = jax.jit(jax.grad(after_a_step))
    return lambda: 1 - run(jnp.full(3, 0.25))


MODELS = {
    f.__name__: f for f in (linen_model, linen_remat, nnx_model, equinox_model, equinox_loop, optax_sign)
}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_model_compiled_before_gets_the_rule_and_loses_it(make):
    gradient = make()
    native = np.asarray(gradient())
    np.testing.assert_array_equal(native, np.zeros_like(native))
    with surrogate.override("jax", {"sign": "identity"}):
        inside = np.asarray(gradient())
    assert (inside != 0).all()
    np.testing.assert_array_equal(gradient(), native)
    with surrogate.use("jax", {"sign": "identity"}):
        np.testing.assert_array_equal(gradient(), inside)
    np.testing.assert_array_equal(gradient(), native)


def test_relu_of_the_libraries_is_the_one_that_is_watched():
    from surrogate_jax import _spellings

    with surrogate.override("jax", {"relu": lambda xp, x: 5.0}):
        for relu in (linen.relu, nnx.relu, jax.nn.relu):
            assert jax.grad(relu)(1.0) == 5
        assert eqx.filter_grad(lambda x: eqx.nn.Lambda(jax.nn.relu)(x))(jnp.float32(1)) == 5
    assert jax.grad(linen.relu)(1.0) == 1
    assert "relu" in _spellings.NN


def test_training_with_optax_moves_the_first_layer():
    model, optimizer = Binary(), optax.adam(0.05)
    params = model.init(jax.random.key(1), X)
    target = jnp.asarray(np.sin(X[:, :2]))

    @jax.jit
    def step(params, state):
        loss, grads = jax.value_and_grad(lambda p: jnp.square(model.apply(p, X) - target).mean())(params)
        updates, state = optimizer.update(grads, state)
        return optax.apply_updates(params, updates), state, loss

    def trained():
        now, state = params, optimizer.init(params)
        for _ in range(20):
            now, state, loss = step(now, state)
        return now["params"]["Dense_0"]["kernel"] - params["params"]["Dense_0"]["kernel"], float(loss)

    still, native_loss = trained()
    np.testing.assert_array_equal(still, np.zeros_like(still))
    with surrogate.override("jax", {"sign": "hardtanh"}):
        moved, loss = trained()
    assert (moved != 0).any()
    assert loss < native_loss


@pytest.mark.parametrize("f", [jnp.sign, jnp.floor, jax.nn.relu, lambda p: p % 2.0, lambda p: 2.0 // p])
def test_a_parameter_of_nnx_is_an_operand(f):
    op = {jnp.sign: "sign", jnp.floor: "floor", jax.nn.relu: "relu"}.get(f)
    p = nnx.Param(jnp.asarray([-2.0, -0.25, 0.5, 3.0]))
    rules = (
        {op: lambda xp, x: 5.0} if op else {k: lambda xp, x, y: (5.0, 5.0) for k in ("mod", "floor_divide")}
    )
    native = nnx.jit(f)(p)
    with surrogate.override("jax", rules):
        np.testing.assert_array_equal(nnx.jit(f)(p), native)
        found = jax.grad(lambda v: nnx.jit(f)(nnx.Param(v)).sum())(p[...])
    np.testing.assert_array_equal(found, np.full(4, 5.0))


def test_weights_clipped_in_a_jitted_step():
    """BinaryConnect: the whole parameter was overwritten with the lower bound."""
    layer = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
    layer.kernel[...] = jnp.asarray([[-2.0, -0.25], [0.5, 3.0]])

    @nnx.jit
    def step(layer):
        layer.kernel[...] = jnp.clip(layer.kernel, -1.0, 1.0)

    with surrogate.override("jax", {"clip": "closed"}):
        step(layer)
    np.testing.assert_array_equal(layer.kernel[...], [[-1, -0.25], [0.5, 1]])
