"""What is interrupted; see ``tests/interrupts.py``."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

BACKEND = "jax"
INSTEAD = ("JaxRuntimeError", "XlaRuntimeError", "SystemError")
RULES = {"sign": "arctan", "round": "identity", "clip": "half", "compare": "arctan"}

_W = np.linspace(-2, 2, 16 * 16, dtype=np.float32).reshape(16, 16)  # no JAX array: a fork starts JAX anew


def _loss(w):
    clipped = jnp.clip(w, -0.5, 0.5).sum() + ((w > 0.25) * w).sum()
    return ((jnp.sign(w) @ jnp.round(4 * w)) ** 2).mean() + clipped


def eager(scope):
    with scope():
        return np.asarray(jax.grad(lambda w: _loss(w))(_W))


def backward_later(scope):
    with scope():
        _, pull = jax.vjp(lambda w: _loss(w), _W)
    return np.asarray(pull(np.float32(1))[0])


def checkpointed(scope):
    with scope():
        return np.asarray(jax.grad(jax.checkpoint(lambda w: _loss(w)))(_W))


def forward(scope):
    with scope():
        return np.asarray(jax.jvp(lambda w: _loss(w), (_W,), (_W,))[1])


def mapped(scope):
    with scope():
        return np.asarray(jax.vmap(jax.grad(lambda w: _loss(w)))(_W.reshape(4, 8, 8)))


def looped(scope):
    with scope():
        return np.asarray(
            jax.grad(lambda w: lax.scan(lambda c, v: (c + _loss(v), None), 0.0, w)[0])(_W[None])
        )


_compiled = jax.jit(jax.grad(_loss))


def compiled(scope):
    with scope():
        return np.asarray(_compiled(_W))


STEPS = {
    step.__name__: step for step in (eager, backward_later, checkpointed, forward, mapped, looped, compiled)
}
