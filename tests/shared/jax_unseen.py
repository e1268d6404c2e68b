"""Programs written from the README and the wish list alone, before their author read a rule of the audit.

Ten have one planted fault each, at the line that says so; five are sound.
"""

import functools

import jax
import jax.numpy as jnp
from jax import lax

KEY = jax.random.key(11)


def _normal(number, *shape, scale=1.0):
    return scale * jax.random.normal(jax.random.fold_in(KEY, number), shape)


def root_behind_a_where():
    """The branch that is not taken still sends NaN back."""
    x = jnp.array([0.5, -0.2, 1.5, 0.0])

    def loss(w):
        z = w * x
        root = jnp.sqrt(z)  # plant: nonfinite
        return jnp.sum(jnp.where(z > 0, root, 0.0))

    return loss, (jnp.ones(4),), {}


def stopped_in_a_helper_of_a_scan():
    """The carry is normalised by a helper from another project, which stops the gradient."""

    def renormalise(h):
        h = lax.stop_gradient(h)  # plant: cut
        return h / (1e-6 + jnp.abs(h).max())

    def loss(w):
        def step(h, x):
            return renormalise(h @ w + x), None

        h, _ = lax.scan(step, jnp.ones((2, 4)), _normal(1, 6, 2, 4))
        return jnp.mean(h**2)

    return loss, (_normal(2, 4, 4),), {}


def router_by_argmax():
    """A mixture of experts whose router gets nothing."""

    @jax.jit
    def loss(params, x):
        scores = x @ params["router"]
        gate = jax.nn.one_hot(jnp.argmax(scores, -1), 3)  # plant: cut|zero
        outs = jnp.einsum("bi,eij->bej", x, params["experts"])
        return jnp.mean(jnp.einsum("be,bej->bj", gate, outs) ** 2)

    params = {"router": _normal(3, 5, 3), "experts": _normal(4, 3, 5, 5)}
    return loss, (params, _normal(5, 8, 5)), {}


def regulariser_as_a_float():
    """The penalty is a Python number: the weights' decay has no effect."""

    def loss(params):
        fit = jnp.mean((_normal(6, 7, 3) @ params["w"]) ** 2)
        decay = float(jnp.sum(params["scale"] ** 2))  # plant: cut
        return fit + 0.1 * decay

    return loss, ({"w": _normal(7, 3), "scale": _normal(8, 3)},), {}


def variance_of_large_numbers():
    """E[x^2] - E[x]^2 of features around a thousand, in single precision."""
    x = 3000.0 + _normal(9, 16, 4)

    def loss(w):
        h = x * w
        variance = jnp.mean(h**2, axis=0) - jnp.mean(h, axis=0) ** 2  # plant: precision|unstable
        return jnp.sum(variance)

    return loss, (jnp.ones(4),), {}


def weights_rounded_in_a_jit():
    """Eight-bit weights without a straight-through gradient, the quantiser jitted apart."""

    @functools.partial(jax.jit, static_argnames="bits")
    def quantise(w, *, bits):
        step = 2.0 ** (1 - bits)
        return jnp.round(w / step) * step  # plant: zero

    def loss(w):
        return jnp.mean(jnp.tanh(_normal(10, 6, 4) @ quantise(w, bits=4)))

    return loss, (_normal(11, 4, 4),), {}


def scan_that_stretches():
    """A linear state-space model with poles far outside the unit circle."""

    def loss(a):
        def step(state, x):
            return a @ state + x, state[0]  # plant: exploding

        state, _ = lax.scan(step, jnp.zeros(3), _normal(12, 50, 3))
        return jnp.sum(state)

    return loss, (3.5 * jnp.eye(3) + _normal(13, 3, 3, scale=0.1),), {}


def tanh_with_a_gain():
    """A squashed policy whose last layer was scaled up."""

    def loss(params):
        h = jax.nn.relu(_normal(14, 12, 6) @ params["w1"])
        action = jnp.tanh(100.0 * (h @ params["w2"]))  # plant: saturated
        return jnp.mean((action - 0.3) ** 2)

    return loss, ({"w1": _normal(15, 6, 8), "w2": _normal(16, 8, 2)},), {}


def index_computed_from_a_feature():
    """A value looked up in a table by a cast position, under vmap."""
    table = jnp.linspace(0.0, 1.0, 32) ** 2

    def one(w, x):
        position = jax.nn.sigmoid(jnp.dot(w, x)) * 31.0
        return table[position.astype(jnp.int32)]  # plant: cut|zero

    def loss(w):
        return jnp.mean(jax.vmap(one, in_axes=(None, 0))(w, _normal(17, 9, 4)))

    return loss, (_normal(18, 4),), {}


def logarithm_of_one_minus():
    """The other half of a binary cross entropy, by hand."""

    def loss(w):
        p = jax.nn.sigmoid(_normal(19, 20, 5) @ w)
        return -jnp.mean(jnp.log(1.0 - p))  # plant: unstable

    return loss, (_normal(20, 5),), {}


def clean_perceptron():
    """Two layers, jitted, softmax cross entropy with integer labels."""
    labels = jnp.arange(10) % 4

    @jax.jit
    def loss(params, x):
        h = jax.nn.gelu(x @ params["w1"] + params["b1"])
        logp = jax.nn.log_softmax(h @ params["w2"] + params["b2"])
        return -jnp.mean(jnp.take_along_axis(logp, labels[:, None], 1))

    params = {
        "w1": _normal(21, 6, 16, scale=0.4), "b1": jnp.zeros(16),
        "w2": _normal(22, 16, 4, scale=0.25), "b2": jnp.zeros(4),
    }  # fmt: skip
    return loss, (params, _normal(23, 10, 6)), {}


def clean_gru_scan():
    """A GRU in a scan whose body is rematerialised, masked by length."""
    lengths = jnp.array([9, 6, 3])

    def loss(p):
        @jax.checkpoint
        def step(h, inputs):
            t, x = inputs
            z = jax.nn.sigmoid(x @ p["xz"] + h @ p["hz"])
            n = jnp.tanh(x @ p["xn"] + (1 - z) * (h @ p["hn"]))
            new = (1 - z) * n + z * h
            return jnp.where((t < lengths)[:, None], new, h), None

        h, _ = lax.scan(step, jnp.zeros((3, 5)), (jnp.arange(9), _normal(24, 9, 3, 2)))
        return jnp.mean((h @ p["out"] - 0.5) ** 2)

    p = {"xz": _normal(25, 2, 5), "hz": _normal(26, 5, 5, scale=0.4), "xn": _normal(27, 2, 5),
         "hn": _normal(28, 5, 5, scale=0.4), "out": _normal(29, 5)}  # fmt: skip
    return loss, (p,), {}


def clean_attention():
    """Causal attention with a layer norm and a finite mask value."""

    def norm(x, gain):
        centred = x - x.mean(-1, keepdims=True)
        return gain * centred * lax.rsqrt(jnp.mean(centred**2, -1, keepdims=True) + 1e-5)

    def loss(p, x):
        y = norm(x, p["gain"])
        q, k, v = y @ p["q"], y @ p["k"], y @ p["v"]
        scores = jnp.where(jnp.tri(7, dtype=bool), q @ k.swapaxes(-1, -2) / jnp.sqrt(8.0), -1e9)
        x = x + jax.nn.softmax(scores, -1) @ v @ p["o"]
        return jnp.mean((x[:, :-1] - x[:, 1:]) ** 2)

    p = {name: _normal(30 + i, 8, 8, scale=0.3) for i, name in enumerate("qkvo")} | {"gain": jnp.ones(8)}
    return loss, (p, _normal(35, 2, 7, 8)), {}


def clean_flow():
    """Affine couplings: a density by its log determinant."""

    def loss(params, x):
        logdet = 0.0
        for w1, w2 in params:
            a, b = jnp.split(x, 2, axis=-1)
            shift, logscale = jnp.split(jnp.tanh(a @ w1) @ w2, 2, axis=-1)
            logscale = 2.0 * jnp.tanh(logscale / 2.0)
            x = jnp.concatenate([b * jnp.exp(logscale) + shift, a], -1)
            logdet = logdet + logscale.sum(-1)
        return jnp.mean(0.5 * (x**2).sum(-1) - logdet)

    params = [(_normal(40 + i, 2, 8), _normal(50 + i, 8, 4, scale=0.3)) for i in range(4)]
    return loss, (params, _normal(60, 12, 4)), {}


def clean_contrastive():
    """InfoNCE of two views, unit vectors, a learned temperature."""

    def embed(w, x):
        h = jax.nn.swish(x @ w)
        return h * lax.rsqrt(jnp.sum(h**2, -1, keepdims=True) + 1e-8)

    def loss(p, x, key):
        views = [embed(p["w"], x + 0.1 * jax.random.normal(k, x.shape)) for k in jax.random.split(key)]
        logits = views[0] @ views[1].T * jnp.exp(p["logt"])
        return -jnp.mean(jnp.diag(jax.nn.log_softmax(logits)))

    return loss, ({"w": _normal(61, 6, 8), "logt": jnp.array(1.0)}, _normal(62, 10, 6), KEY), {}


PLANTED = [
    root_behind_a_where, stopped_in_a_helper_of_a_scan, router_by_argmax, regulariser_as_a_float,
    variance_of_large_numbers, weights_rounded_in_a_jit, scan_that_stretches, tanh_with_a_gain,
    index_computed_from_a_feature, logarithm_of_one_minus,
]  # fmt: skip
CLEAN = [clean_perceptron, clean_gru_scan, clean_attention, clean_flow, clean_contrastive]
