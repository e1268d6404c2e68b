"""Learned steps, bounds and thresholds: the op's inputs, with the gradients of the papers' formulas.

LSQ: Esser, McKinstry, Bablani, Appuswamy, Modha 2020, arXiv 1902.08153. PACT: Choi et al. 2018, arXiv
1805.06085.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow as tf
import torch

import surrogate

X = np.array([[-3.0, -0.75, 0.25, 1.5], [0.5, 2.0, -1.25, 0.125]])
G = np.array([[1.0, -2.0, 0.5, 3.0], [0.25, 1.5, -1.0, 2.0]])
P = {"tensor": np.array(0.5), "channel": np.array([0.5, 0.25, 1.0, 2.0])}
N, TOP = 4, 3


def in_torch(f, p):
    x, q = (torch.tensor(v, requires_grad=True) for v in (X, p))
    f(torch, x, q).backward(torch.tensor(G))
    return x.grad.numpy(), q.grad.numpy()


def in_jax(f, p):
    with jax.enable_x64(True):
        _, back = jax.vjp(lambda x, q: f(jnp, x, q), jnp.asarray(X), jnp.asarray(p))
        return tuple(np.asarray(c) for c in back(jnp.asarray(G)))


def in_keras(f, p):
    import keras

    x, q = tf.constant(X), tf.constant(p)
    with tf.GradientTape() as tape:
        tape.watch([x, q])
        y = f(keras.ops, x, q)
    return tuple(np.asarray(c) for c in tape.gradient(y, [x, q], tf.constant(G)))


FRAMEWORKS = {"torch": in_torch, "jax": in_jax, "tensorflow": in_keras}


def summed(c, p):
    """A cotangent summed to the parameter's shape."""
    return c.sum(axis=0) if p.ndim else c.sum()


def lsq(ops, x, s):
    return ops.round(ops.clip(x / s, -N, TOP)) * s


def of_lsq(x, s, g):
    v = x / s
    inside = (v > -N) & (v < TOP)
    by_s = np.where(inside, np.round(v) - v, np.where(v <= -N, -N, TOP))
    return g * inside, summed(g * by_s, s)


def pact(ops, x, alpha):
    return ops.clip(x, ops.zeros_like(alpha), alpha)


def of_pact(x, alpha, g):
    return g * ((x >= 0) & (x < alpha)), summed(g * (x >= alpha), alpha)


def threshold(ops, x, theta):
    return ops.sign(x - theta)


def of_threshold(x, theta, g):
    h = 2 / (1 + (np.pi * (x - theta)) ** 2)
    return g * h, summed(-g * h, theta)


CASES = {
    "lsq": (lsq, {"round": "identity", "clip": "open"}, of_lsq),
    "pact": (pact, {"clip": "pact"}, of_pact),
    "threshold": (threshold, {"sign": "arctan(alpha=2)"}, of_threshold),
}


@pytest.mark.parametrize("shape", P)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_what_is_learned_gets_the_papers_gradient(framework, case, shape):
    f, rules, paper = CASES[case]
    p = P[shape]
    with surrogate.override(framework, rules):
        by_x, by_p = FRAMEWORKS[framework](f, p)
    expected = paper(X, p, G)
    np.testing.assert_allclose(by_x, expected[0], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(by_p, expected[1], rtol=1e-12, atol=1e-15)
