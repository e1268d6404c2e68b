"""Twenty planted programs and ten clean ones, written after the recorder and the rules were done.

A line at fault ends in ``#! kind:op|op``. Each program is ``(loss, args)``.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

R = np.random.RandomState(3)


def n(*shape):
    return jnp.asarray(R.randn(*shape), jnp.float32)


def p01():
    """A learned threshold by a comparison."""

    def loss(p, x):
        mask = jnp.where(x > p["t"], 1.0, 0.0)  #! cut:gt
        return jnp.mean((x * mask * p["g"] - 1) ** 2)

    return loss, ({"t": jnp.float32(0.1), "g": jnp.float32(1.0)}, n(20))


def p02():
    """A learned index into a table."""

    def loss(p, table):
        i = jnp.clip(p["pos"], 0, 9).astype(int)  #! cut:cast
        return table[i] ** 2 + p["b"] ** 2

    return loss, ({"pos": jnp.float32(3.3), "b": jnp.float32(1.0)}, n(10))


def p03():
    """Eight-bit quantisation, forgotten straight-through."""

    def quantise(w, bits=8):
        scale = jnp.max(jnp.abs(w)) / (2 ** (bits - 1) - 1)
        return jnp.round(w / scale)  #! zero:round

    def loss(p, x):
        return jnp.mean((x @ quantise(p["w"]) * 0.01 + p["b"]) ** 2)

    return loss, ({"w": n(4, 3), "b": n(3)}, n(5, 4))


def p04():
    """Spiking neurons under a scan, with a hard threshold."""

    def loss(p, xs):
        def step(v, x):
            v = 0.9 * v + x @ p["w"]
            s = (v > 1.0).astype(v.dtype)  #! cut:gt
            return v - lax.stop_gradient(s), s

        _, spikes = lax.scan(step, jnp.zeros(3), xs)
        return jnp.mean((jnp.sum(spikes, 0) - 2.0) ** 2)

    return loss, ({"w": n(4, 3) + 0.5}, n(12, 4))


def p05():
    """The teacher is stopped, and so is the student."""

    def loss(p, x):
        student, teacher = x @ p["s"], x @ p["t"]
        student = lax.stop_gradient(student)  #! cut:stop_gradient
        return jnp.mean((student - teacher) ** 2)

    return loss, ({"s": n(4, 2), "t": n(4, 2)}, n(6, 4))


def p06():
    """A percentage for the log comes back as a weight."""

    def loss(p, x):
        share = float(jnp.mean(jax.nn.sigmoid(x @ p["w"])))  #! cut:item
        return share * jnp.sum(p["b"] ** 2)

    return loss, ({"w": n(4), "b": n(4)}, n(6, 4))


def p07():
    """NumPy inside the loss."""

    def loss(w):
        return jnp.mean(jnp.asarray(np.maximum(w, 0.1)))  #! cut:numpy

    return loss, (n(5),)


def p08():
    """Newton's method in a while_loop until it converges."""

    def root(a):
        def more(s):
            return jnp.abs(s[0] ** 2 - a) > 1e-4

        return lax.while_loop(more, lambda s: (0.5 * (s[0] + a / s[0]), s[1] + 1), (a, 0))[0]  #! cut:while

    def loss(w):
        return root(jnp.sum(w**2))

    return loss, (n(5),)


def p09():
    """A physical law by a host callback."""

    def law(x):
        return np.asarray(np.sin(x), np.float32)

    def loss(w):
        y = jax.pure_callback(law, jax.ShapeDtypeStruct(w.shape, w.dtype), w)  #! cut:pure_callback
        return jnp.sum(y**2)

    return loss, (n(5),)


def p10():
    """Accuracy as an auxiliary term."""

    def loss(w, x, y):
        logits = x @ w
        right = jnp.argmax(logits, -1) == y  #! cut:argmax
        return -jnp.mean(jax.nn.log_softmax(logits)[jnp.arange(8), y]) + 0.5 * (1 - jnp.mean(right))

    return loss, (n(4, 3), n(8, 4), jnp.asarray(R.randint(0, 3, 8)))


def p11():
    """A cosine similarity of a vector that is zero at the start."""

    def loss(p, x):
        v = x[0] @ p["w"]
        return 1 - jnp.vdot(v, x[0]) / (jnp.linalg.norm(v) * jnp.linalg.norm(x[0]))  #! nonfinite:norm|div|mul

    return loss, ({"w": jnp.zeros((4, 4))}, n(1, 4))


def p12():
    """arcsin at the edge."""

    def loss(w):
        return jnp.sum(jnp.arcsin(w / jnp.max(jnp.abs(w))))  #! nonfinite:asin

    return loss, (n(6),)


def p13():
    """Log of probabilities that underflow."""

    def loss(w):
        q = jax.nn.sigmoid(w)
        return -jnp.sum(jnp.log(q))  #! nonfinite:log

    return loss, (jnp.asarray([-200.0, 1.0, 2.0]),)


def p14():
    """Thirty layers of tanh with small weights."""

    def loss(ws, x):
        def step(h, w):
            return jnp.tanh(h @ w), None  #! vanishing:dot_general

        h, _ = lax.scan(step, x, ws)
        return jnp.sum(h)

    return loss, (0.15 * n(30, 6, 6), n(3, 6))


def p15():
    """Dead from the first layer on."""

    def loss(p, x):
        h = jax.nn.relu(x @ p["w1"] - 50.0)  #! dead:relu
        return jnp.mean((h @ p["w2"] - 1.0) ** 2)

    return loss, ({"w1": n(4, 8), "w2": n(8, 1)}, n(16, 4))


def p16():
    """Pixels from 0 to 255 into a tanh."""

    def loss(p, img):
        h = jnp.tanh(img @ p["w"] + 7.0)  #! saturated:tanh
        return jnp.mean(h**2)

    return loss, ({"w": jnp.abs(n(16, 4)) + 0.1}, jnp.asarray(R.randint(0, 256, (8, 16)), jnp.float32))


def p17():
    """A vmapped and jitted helper counts by ceil."""

    @jax.jit
    def boxes(weight, size):
        return jnp.ceil(weight / size)  #! zero:ceil

    def loss(p, x):
        return jnp.sum(jax.vmap(boxes, (0, None))(x * p["w"], p["s"])) * 0.1

    return loss, ({"w": jnp.float32(2.0), "s": jnp.float32(0.7)}, jnp.abs(n(5)))


def p18():
    """Rounded to the nearest bin in a remat block of the second of two layers."""

    def loss(p, x):
        def layer(h, w):
            return jnp.tanh(h @ w)

        h = layer(x, p["a"])
        h = jax.checkpoint(lambda h: jnp.rint(layer(h, p["b"]) * 4) / 4)(h)  #! zero:round
        return jnp.mean(h**2)

    return loss, ({"a": n(4, 4), "b": n(4, 4)}, n(3, 4))


def p19():
    """Hours of the day by floor division, and the remainder is not used."""

    def loss(p, minutes):
        hour = jnp.floor_divide(minutes * p["speed"], 60.0)  #! zero:floor_divide
        return jnp.mean((hour - p["h"]) ** 2)

    return loss, ({"speed": jnp.float32(1.1), "h": jnp.float32(3.0)}, jnp.arange(0.0, 600.0, 60.0))


def p20():
    """A ranking by argsort of the scores."""

    def loss(w, x, gain):
        order = jnp.argsort(-(x @ w))  #! cut:argsort
        return -jnp.sum(gain[order] / jnp.log2(jnp.arange(8.0) + 2))

    return loss, (n(4), n(8, 4), jnp.abs(n(8)))


PLANTED = [p01, p02, p03, p04, p05, p06, p07, p08, p09, p10, p11, p12, p13, p14, p15, p16, p17, p18, p19, p20]


def c01():
    """Sinkhorn by a fixed number of iterations, in log space."""

    def loss(x, y):
        cost = jnp.sum((x[:, None] - y) ** 2, -1)

        def step(carry, _):
            f, g = carry
            f = -0.5 * jax.nn.logsumexp((g - cost) / 0.5, axis=1)
            g = -0.5 * jax.nn.logsumexp((f[:, None] - cost) / 0.5, axis=0)
            return (f, g), None

        (f, g), _ = lax.scan(step, (jnp.zeros(5), jnp.zeros(6)), None, length=10)
        return jnp.mean(f) + jnp.mean(g)

    return loss, (n(5, 2), n(6, 2))


def c02():
    """Gumbel-softmax, straight-through."""

    def loss(w, x):
        logits = x @ w
        soft = jax.nn.softmax((logits + jax.random.gumbel(jax.random.key(0), logits.shape)) / 0.7)
        hard = jax.nn.one_hot(jnp.argmax(soft, -1), 3)
        return jnp.mean((hard + soft - lax.stop_gradient(soft)) * jnp.arange(3.0))

    return loss, (n(4, 3), n(6, 4))


def c03():
    """Huber loss with gradient clipping by value, masked mean over padding."""

    def loss(w, x, length):
        error = x @ w - 1.0
        each = jnp.where(jnp.abs(error) < 1.0, 0.5 * error**2, jnp.abs(error) - 0.5)
        mask = jnp.arange(7) < length[:, None]
        return jnp.sum(each * mask) / jnp.maximum(jnp.sum(mask), 1)

    return loss, (n(4), n(3, 7, 4), jnp.asarray([3, 7, 5]))


def c04():
    """A Kalman filter."""

    def loss(p, ys):
        def step(carry, y):
            m, v = carry
            v = v + jax.nn.softplus(p["q"])
            k = v / (v + jax.nn.softplus(p["r"]))
            e = y - m
            return (m + k * e, (1 - k) * v), 0.5 * (jnp.log(v + 1.0) + e**2 / (v + 1.0))

        return jnp.sum(lax.scan(step, (0.0, 1.0), ys)[1])

    return loss, ({"q": jnp.float32(0.1), "r": jnp.float32(0.2)}, n(15))


def c05():
    """Hard negative mining: the worst three of the batch."""

    def loss(w, x):
        score = jax.nn.softplus(x @ w)
        return jnp.mean(lax.top_k(score, 3)[0]) + jnp.mean(jnp.sort(score)[:2])

    return loss, (n(4), n(8, 4))


def c06():
    """A straight-through binary layer by custom_jvp."""

    @jax.custom_jvp
    def binary(x):
        return jnp.sign(x)

    binary.defjvp(lambda xs, ts: (binary(*xs), ts[0] * (jnp.abs(xs[0]) < 1)))

    def loss(w, x):
        return jnp.mean((x @ binary(w) - 1) ** 2)

    return loss, (0.5 * n(4, 3), n(5, 4))


def c07():
    """Distances with the double where."""

    def loss(x):
        d = jnp.sum((x[:, None] - x) ** 2, -1)
        apart = ~jnp.eye(4, dtype=bool)
        return jnp.sum(jnp.where(apart, jnp.sqrt(jnp.where(apart, d, 1.0)), 0.0))

    return loss, (n(4, 2),)


def c08():
    """A minimum image under periodic boundaries, and a cut-off."""

    def loss(x):
        d = x[:, None] - x
        d = d - jnp.round(d)
        r2 = jnp.sum(d**2, -1) + jnp.eye(5)
        return jnp.sum(jnp.where(r2 < 0.25, (1 - 4 * r2) ** 2, 0.0))

    return loss, (jnp.asarray(R.rand(5, 2), jnp.float32),)


def c09():
    """Conv net by lax, layer norm by hand, dropout, partial application, static argument."""

    @functools.partial(jax.jit, static_argnames="train")
    def net(p, x, train):
        x = lax.conv_general_dilated(x, p["k"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = jax.nn.gelu((x - jnp.mean(x, -1, keepdims=True)) / jnp.sqrt(jnp.var(x, -1, keepdims=True) + 1e-5))
        if train:
            x = x * jax.random.bernoulli(jax.random.key(1), 0.8, x.shape) / 0.8
        return jnp.mean(x, (1, 2)) @ p["w"]

    def loss(p, x):
        return jnp.mean(net(p, x, train=True) ** 2)

    return loss, ({"k": n(3, 3, 2, 4), "w": n(4, 2)}, n(2, 6, 6, 2))


def c10():
    """A while loop over data only, and a branch on the data."""

    def loss(w, x):
        size = lax.while_loop(lambda s: s < 10.0, lambda s: s * 2, jnp.max(jnp.abs(x)))
        h = lax.cond(jnp.mean(x) > 0, lambda h: jnp.tanh(h), lambda h: jax.nn.elu(h), x @ w / size)
        return jnp.mean(h**2)

    return loss, (n(4, 3), n(5, 4))


CLEAN = [c01, c02, c03, c04, c05, c06, c07, c08, c09, c10]
