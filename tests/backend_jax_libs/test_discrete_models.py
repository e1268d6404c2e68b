"""Code as it is written, unmodified: spikes by a comparison, and a codebook by an index."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from sklearn import datasets

import surrogate


def leaky_integrate_and_fire(currents, decay=0.9):
    """Spikes of neurons over time, with a soft reset."""

    def step(v, current):
        v = decay * v + current
        spike = (v > 1).astype(v.dtype)
        return v - spike, spike

    return lax.scan(step, jnp.zeros_like(currents[0]), currents)[1]


def test_a_spiking_layer_learns_digits():
    digits = datasets.load_digits()
    x, y = digits.data.astype(np.float32) / 16, digits.target
    order = np.random.default_rng(0).permutation(len(x))
    train, test = order[:1400], order[1400:]
    keys = jax.random.split(jax.random.key(0), 2)
    params = {
        "first": jax.random.normal(keys[0], (64, 96)) * 0.2,
        "last": jax.random.normal(keys[1], (96, 10)) * 0.1,
    }

    def logits(params, x):
        currents = jnp.broadcast_to(x @ params["first"], (8, len(x), 96))
        return leaky_integrate_and_fire(currents).mean(0) @ params["last"]

    def loss(params, x, y):
        return optax.softmax_cross_entropy_with_integer_labels(logits(params, x), y).mean()

    optimizer = optax.adam(0.01)

    @jax.jit
    def step(params, state, x, y):
        updates, state = optimizer.update(jax.grad(loss)(params, x, y), state)
        return optax.apply_updates(params, updates), state

    first, state = params["first"], optimizer.init(params)
    with surrogate.override("jax", {"compare": "arctan"}) as active:
        for k in range(120):
            rows = train[(np.arange(128) + 128 * k) % len(train)]
            params, state = step(params, state, x[rows], y[rows])
    assert active.hits["greater"] > 0
    assert (params["first"] != first).any()
    assert (logits(params, x[test]).argmax(-1) == y[test]).mean() > 0.9


def test_a_codebook_by_argmin_is_the_straight_through_estimator_where_that_is_its_definition():
    """``identity`` gives class j ``<g, code j>``; with unit vectors as codes that is z + sg(q - z)."""
    codes, z = jnp.eye(6), jax.random.normal(jax.random.key(1), (5, 6))
    target = jax.random.normal(jax.random.key(2), (5, 6))

    def quantised(z):
        distances = jnp.square(z[:, None] - codes).sum(-1)
        return codes[distances.argmin(-1)]

    def with_rule(z):
        scores = lax.stop_gradient(jnp.square(z[:, None] - codes).sum(-1) + z) - z
        return jnp.square(codes[scores.argmin(-1)] - target).sum()

    def with_trick(z):
        return jnp.square(z + lax.stop_gradient(quantised(z) - z) - target).sum()

    with surrogate.override("jax", {"argmin": "identity"}):
        found = jax.jit(jax.grad(with_rule))(z)
    np.testing.assert_allclose(found, jax.grad(with_trick)(z), rtol=1e-5, atol=1e-6)
