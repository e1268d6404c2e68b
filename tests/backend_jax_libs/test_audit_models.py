"""Small clean models of Flax, Equinox, optax and plain JAX: an audit accuses none of their ops."""

import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from jax import lax
from jax.experimental.ode import odeint

import surrogate

KEY = jax.random.key(0)
RNG = np.random.RandomState(0)


def draw(*shape):
    return jnp.asarray(RNG.randn(*shape) * 0.5, jnp.float32)


class Convolutional(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.BatchNorm(use_running_average=False)(nn.Conv(4, (3, 3))(x)))
        x = nn.avg_pool(nn.relu(nn.Conv(8, (3, 3))(nn.max_pool(x, (2, 2), (2, 2)))), (2, 2), (2, 2))
        return nn.Dense(5)(nn.Dropout(0.3, deterministic=False)(x.reshape(len(x), -1)))


def flax_convolutional():
    net, x = Convolutional(), draw(8, 8, 8, 3)
    variables = net.init({"params": KEY, "dropout": KEY}, x)

    def loss(params, x, y):
        state = {"params": params, "batch_stats": variables["batch_stats"]}
        logits, _ = net.apply(state, x, rngs={"dropout": KEY}, mutable=["batch_stats"])
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    return loss, (variables["params"], x, jnp.arange(8) % 5)


class Transformer(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(20, 16)(tokens) + self.param("position", nn.initializers.normal(0.02), (6, 16))
        h = nn.LayerNorm()(x)
        x = x + nn.MultiHeadDotProductAttention(num_heads=2)(h, h, mask=nn.make_causal_mask(tokens))
        x = x + nn.Dense(16)(nn.gelu(nn.Dense(32)(nn.LayerNorm()(x))))
        return nn.Dense(20)(nn.LayerNorm()(x))


def flax_transformer():
    net, tokens = Transformer(), jax.random.randint(KEY, (4, 6), 0, 20)

    def loss(params, tokens):
        logits = net.apply(params, tokens)
        wanted = jnp.where(tokens[:, 1:] > 15, -100, tokens[:, 1:])
        kept = (wanted != -100).astype(jnp.float32)
        each = optax.softmax_cross_entropy_with_integer_labels(logits[:, :-1], jnp.maximum(wanted, 0))
        return (each * kept).sum() / jnp.maximum(kept.sum(), 1.0)

    return loss, (net.init(KEY, tokens), tokens)


class Normalised(nnx.Module):
    def __init__(self, rngs):
        self.first, self.last = nnx.Linear(4, 8, rngs=rngs), nnx.Linear(8, 2, rngs=rngs)
        self.norm, self.dropout = nnx.BatchNorm(8, rngs=rngs), nnx.Dropout(0.2, rngs=rngs)

    def __call__(self, x):
        return self.last(self.dropout(nnx.relu(self.norm(self.first(x)))))


def flax_nnx():
    graph, params, rest = nnx.split(Normalised(nnx.Rngs(0)), nnx.Param, ...)

    def loss(params, x):
        return jnp.mean(nnx.merge(graph, params, rest, copy=True)(x) ** 2)

    return loss, (params, draw(16, 4))


def recurrent():
    names = ("wz", "wr", "wc", "uz", "ur", "uc")
    params = {name: draw(4 if name[0] == "w" else 8, 8) for name in names} | {"out": draw(8, 1)}

    def cell(p, h, x):
        z, r = (jax.nn.sigmoid(x @ p["w" + gate] + h @ p["u" + gate]) for gate in "zr")
        return (1 - z) * h + z * jnp.tanh(x @ p["wc"] + (r * h) @ p["uc"])

    @jax.jit
    def loss(p, xs):
        step = jax.checkpoint(cell)
        h, _ = lax.scan(lambda h, x: (step(p, h, x), None), jnp.zeros((3, 8)), xs)
        return jnp.mean((h @ p["out"] - 1) ** 2)

    return loss, (params, draw(20, 3, 4))


class Mixture(eqx.Module):
    experts: list[eqx.nn.MLP]
    gate: eqx.nn.Linear

    def __init__(self, key):
        *keys, last = jax.random.split(key, 4)
        self.experts = [eqx.nn.MLP(4, 4, 8, 1, key=k) for k in keys]
        self.gate = eqx.nn.Linear(4, 3, key=last)

    def __call__(self, x):
        shares = jax.nn.softmax(self.gate(x))
        top, chosen = lax.top_k(shares, 2)
        weights = jnp.zeros(3).at[chosen].set(top / top.sum())
        return sum(weights[k] * expert(x) for k, expert in enumerate(self.experts)), shares


def equinox_mixture():
    def loss(net, x):
        out, shares = jax.vmap(net)(x)
        load = jax.nn.one_hot(jnp.argmax(shares, -1), 3).mean(0)
        return jnp.mean((out - 1) ** 2) + 0.01 * jnp.sum(load * shares.mean(0))

    return loss, (Mixture(KEY), draw(8, 4))


def neural_ode():
    def loss(p, start, times):
        ys = odeint(lambda y, t: jnp.tanh(y @ p["in"]) @ p["out"], start, times)
        return jnp.mean(ys**2)

    return loss, ({"in": draw(2, 8), "out": draw(8, 2)}, jnp.ones(2), jnp.linspace(0.0, 1.0, 4))


def vector_quantised():
    def loss(p, x):
        z = x @ p["encode"]
        q = p["codes"][jnp.argmin(jnp.sum((z[:, None] - p["codes"]) ** 2, -1), 1)]
        out = (z + lax.stop_gradient(q - z)) @ p["decode"]
        kept = jnp.mean((lax.stop_gradient(z) - q) ** 2) + 0.25 * jnp.mean((z - lax.stop_gradient(q)) ** 2)
        return jnp.mean((out - x) ** 2) + kept

    return loss, ({"encode": draw(6, 4), "decode": draw(4, 6), "codes": draw(8, 4)}, draw(10, 6))


def diffusion():
    params = {"in": draw(8, 16), "time": draw(8, 16), "out": draw(16, 8)}

    def net(p, x, t):
        phase = t[:, None] * jnp.exp(-jnp.arange(4) * 0.75)
        embedded = jnp.concatenate([jnp.sin(phase), jnp.cos(phase)], -1)
        return jax.nn.silu(x @ p["in"] + embedded @ p["time"]) @ p["out"]

    def loss(p, x, key):
        when, how = jax.random.split(key)
        t = jax.random.randint(when, (len(x),), 0, 100)
        left = jnp.cumprod(1 - jnp.linspace(1e-4, 0.02, 100))[t][:, None]
        noise = jax.random.normal(how, x.shape)
        noisy = jnp.sqrt(left) * x + jnp.sqrt(1 - left) * noise
        return jnp.mean((net(p, noisy, t / 100.0) - noise) ** 2)

    return loss, (params, draw(6, 8), KEY)


def critic_with_a_gradient_penalty():
    def critic(p, x):
        return (jax.nn.leaky_relu(x @ p["in"], 0.2) @ p["out"])[..., 0]

    def loss(p, real, fake):
        share = jax.random.uniform(KEY, (8, 1))
        slopes = jax.vmap(jax.grad(critic, 1), (None, 0))(p, share * real + (1 - share) * fake)
        penalty = jnp.mean((jnp.sqrt(jnp.sum(slopes**2, -1) + 1e-12) - 1) ** 2)
        return critic(p, fake).mean() - critic(p, real).mean() + 10 * penalty

    return loss, ({"in": draw(4, 8), "out": draw(8, 1)}, draw(8, 4), draw(8, 4))


def bilinear_warp():
    def loss(p, image):
        grid = jnp.meshgrid(jnp.arange(8.0), jnp.arange(8.0), indexing="ij")
        moved = jax.scipy.ndimage.map_coordinates(
            image, [g + s for g, s in zip(grid, p["shift"], strict=True)], 1
        )
        blurred = jax.scipy.signal.convolve2d(moved, p["kernel"], mode="same")
        return jnp.mean(jax.image.resize(blurred, (4, 4), "bilinear") ** 2)

    return loss, ({"shift": [jnp.float32(0.3), jnp.float32(0.2)], "kernel": draw(3, 3)}, draw(8, 8))


MODELS = [
    flax_convolutional, flax_transformer, flax_nnx, recurrent, equinox_mixture, neural_ode, vector_quantised,
    diffusion, critic_with_a_gradient_penalty, bilinear_warp,
]  # fmt: skip


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.__name__)
def test_clean(model):
    loss, args = model()
    report = surrogate.audit("jax", loss, *args)
    assert [str(f) for f in report.findings if f.at_least("warning")] == [], str(report)
    assert report.reached == report.sources > 0
    assert not report.notes
