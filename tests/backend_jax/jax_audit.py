"""Programs for the audit of JAX. A line at fault ends in ``#! kind:op|op``; every other line is sound.

Each is ``program(w)``, differentiated by ``w``, an array of twelve numbers of both signs.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

# -- a derivative that is zero everywhere, eagerly and in compiled code ------------------------------


def sign(w):
    return jnp.sum(jnp.sign(w) * 0.5 + 1)  #! zero:sign


def lax_sign(w):
    return jnp.sum(lax.sign(w) ** 2)  #! zero:sign


def round_decimals(w):
    return jnp.sum(jnp.round(w, 1) ** 2)  #! zero:round


def rint(w):
    return jnp.sum(jnp.rint(w * 3) ** 2)  #! zero:round


def floor(w):
    return jnp.sum(jnp.floor(w) ** 2)  #! zero:floor


def ceil(w):
    return jnp.sum(jnp.ceil(w) ** 2)  #! zero:ceil


def trunc(w):
    return jnp.sum(jnp.trunc(w) ** 2)  #! zero:trunc


def floor_divide(w):
    return jnp.sum((w // 0.5) ** 2)  #! zero:floor_divide


def heaviside(w):
    return jnp.sum(jnp.heaviside(w, 0.5) ** 2)  #! zero:heaviside


@jax.jit
def _helper(x):
    return jnp.trunc(x)  #! zero:trunc


def jitted_helper(w):
    return jnp.sum(_helper(w) ** 2)


def compiled(w):
    def inner(x):
        return jnp.sum(jnp.floor(x) ** 2)  #! zero:floor

    return jax.jit(inner)(w)


def mapped(w):
    return jnp.sum(jax.vmap(lambda row: jnp.ceil(row * 2))(w.reshape(3, 4)))  #! zero:ceil


def recomputed(w):
    @jax.checkpoint
    def block(x):
        return jnp.round(x * 2)  #! zero:round

    return jnp.sum(block(w) ** 2)


def in_scan(w):
    def step(h, x):
        return jnp.round(h + x), None  #! zero:round

    h, _ = lax.scan(step, jnp.zeros(()), w)
    return h**2


def in_reversed_scan(w):
    def step(h, x):
        return h + jnp.sign(x), h  #! zero:sign

    h, hs = lax.scan(step, jnp.zeros(()), w, reverse=True)
    return h + jnp.sum(hs)


def in_fori_loop(w):
    def step(i, h):
        return jnp.floor(h * 0.5)  #! zero:floor

    return jnp.sum(lax.fori_loop(0, 3, step, w))


def in_cond(w):
    def yes(x):
        return jnp.sign(x)  #! zero:sign

    return jnp.sum(lax.cond(w.size > 0, yes, lambda x: x, w) ** 2)


def in_switch_in_scan(w):
    def step(h, x):
        h = lax.switch(1, [lambda a: a, lambda a: jnp.ceil(a * 4), lambda a: 2 * a], h + x)  #! zero:ceil
        return h, h

    _, hs = lax.scan(step, jnp.ones(()), w)
    return jnp.sum(hs)


def own_rule_of_zero(w):
    @jax.custom_vjp
    def quantised(x):
        return jnp.round(x)

    quantised.defvjp(lambda x: (quantised(x), None), lambda _, g: (jnp.zeros_like(g),))
    return jnp.sum(quantised(w) ** 2)  #! zero:quantised


# -- the value leaves the differentiable world -------------------------------------------------------


def cast(w):
    return jnp.sum(w.astype(jnp.int32) * 0.5)  #! cut:cast


def compare(w):
    return jnp.sum((w > 0.1) * 2.0)  #! cut:gt


def argmax(w):
    return jnp.arange(12.0)[jnp.argmax(w)]  #! cut:argmax


def top_k(w):
    _, chosen = lax.top_k(w, 2)  #! cut:topk
    return jnp.sum(jnp.arange(12.0)[chosen])


def argsort(w):
    return jnp.sum(jnp.arange(12.0)[jnp.argsort(w)] * jnp.linspace(0, 1, 12))  #! cut:argsort


def searchsorted(w):
    return jnp.sum(jnp.searchsorted(jnp.linspace(-1.0, 1.0, 5), w) * 0.5)  #! cut:searchsorted


def stopped(w):
    return jnp.sum(lax.stop_gradient(w) ** 2)  #! cut:stop_gradient


def stopped_in_scan(w):
    def step(h, x):
        return h + lax.stop_gradient(x), None  #! cut:stop_gradient

    return lax.scan(step, jnp.zeros(()), w)[0]


def numpy(w):
    return jnp.sum(np.asarray(w) ** 2)  #! cut:numpy


def item(w):
    return jnp.float32(float(jnp.sum(w)) ** 2)  #! cut:item


def item_method(w):
    return jnp.float32(jnp.sum(w).item())  #! cut:item


def index(w):
    return jnp.arange(12.0)[int(jnp.sum(w))]  #! cut:item


def truth(w):
    if jnp.sum(w) > 0:  #! cut:bool
        w = 2 * w
    return jnp.sum(w)


def numpy_in_a_jit(w):
    @jax.jit
    def inner(x):
        return jnp.sum(jnp.asarray(np.sort(x)))  #! cut:numpy

    return inner(w)


def callback(w):
    shape = jax.ShapeDtypeStruct(w.shape, w.dtype)
    return jnp.sum(jax.pure_callback(np.sort, shape, w))  #! cut:pure_callback


def while_loop(w):
    _, h = lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 0.9), (0, w))  #! cut:while
    return jnp.sum(h)


def while_by_a_bound_that_is_data(w):
    bound = jnp.sum(jnp.asarray([1, 1]))
    return jnp.sum(lax.fori_loop(0, bound, lambda i, h: h * 0.9, w))  #! cut:while


def by_the_branch(w):
    taken = jnp.sum(w) > 0  #! cut:gt
    return jnp.sum(lax.cond(taken, lambda: jnp.ones(3), lambda: jnp.zeros(3)))


def a_term_of_the_loss(w):
    wrong = jnp.abs(jnp.argmax(w) - 3).astype(jnp.float32)  #! cut:argmax
    return jnp.sum(w**2) + 0.1 * wrong


# -- numbers -----------------------------------------------------------------------------------------


def root_at_zero(w):
    return jnp.sum(jnp.sqrt(w * 0.0) + w)  #! nonfinite:sqrt


def norm_at_zero(w):
    return jnp.linalg.norm(w * 0.0)  #! nonfinite:norm


def masked_after(w):
    return jnp.sum(jnp.where(w > 0, jnp.sqrt(jnp.maximum(w, 0.0)), w))  #! nonfinite:sqrt


def log_of_zero(w):
    return jnp.sum(jnp.log(jnp.maximum(w, 0.0) + 0.0 * w))  #! nonfinite:log


def late_in_a_long_scan(w):
    def step(h, x):
        return jnp.sqrt(h - x), None  #! nonfinite:sqrt

    xs = jnp.where(jnp.arange(500) == 250, 100.0, -1.0)
    return lax.scan(step, 4.0 + w[0] * 0.0, xs)[0]


def log_of_softmax(w):
    return -jnp.sum(jnp.log(jax.nn.softmax(w))[:3])  #! unstable:log


def dead(w):
    return jnp.sum(jax.nn.relu(w - 1000.0) ** 2)  #! dead:relu


def saturated(w):
    return jnp.sum(jax.nn.sigmoid(w * 1000.0 + 1.0))  #! saturated:sigmoid


def exploding_in_scan(w):
    m = jnp.diag(w[:4] * 0 + 2.0)

    def step(h, _):
        return m @ h, None  #! exploding:dot_general

    return jnp.sum(lax.scan(step, w[4:8] * 1e-12, None, length=50)[0])


FAULTY = [
    sign, lax_sign, round_decimals, rint, floor, ceil, trunc, floor_divide, heaviside, compiled, mapped,
    recomputed, in_scan, in_reversed_scan, in_fori_loop, in_cond, in_switch_in_scan, own_rule_of_zero, cast,
    compare, argmax, top_k, argsort, searchsorted, stopped, stopped_in_scan, numpy, item, item_method, index,
    truth, numpy_in_a_jit, callback, while_loop, while_by_a_bound_that_is_data, by_the_branch,
    a_term_of_the_loss, root_at_zero, norm_at_zero, masked_after, log_of_zero, late_in_a_long_scan,
    log_of_softmax, dead, saturated, exploding_in_scan,
]  # fmt: skip


# -- sound -------------------------------------------------------------------------------------------


def fraction(w):
    return jnp.sum((w - jnp.floor(w)) ** 2)


def remainder(w):
    return jnp.sum(jnp.mod(w, 1.0))


def straight_through(w):
    return jnp.sum((w + lax.stop_gradient(jnp.round(w) - w)) ** 2)


def own_straight_through(w):
    @jax.custom_vjp
    def quantised(x):
        return jnp.round(x)

    quantised.defvjp(lambda x: (quantised(x), None), lambda _, g: (g,))
    return jnp.sum(quantised(w) ** 2)


def leaky(w):
    return jnp.sum(jnp.where(w > 0, w, 0.1 * w))


def metric(w):
    jax.debug.print("{}", jnp.argmax(w))
    return jnp.sum(w**2)


def dropped_out(w):
    return jnp.sum(jnp.where(jax.random.bernoulli(jax.random.key(0), 0.5, w.shape), w / 0.5, 0.0))


def stable_softmax(w):
    e = jnp.exp(w - lax.stop_gradient(jnp.max(w)))
    return jnp.sum((e / jnp.sum(e)) * jnp.arange(12.0))


def target(w):
    return jnp.sum((w * 2 - lax.stop_gradient(w * 0.9)) ** 2)


def vector_quantised(w):
    z, codes = w[:4], w[4:]
    q = codes[jnp.argmin((z[:, None] - codes) ** 2, 1)]
    through = z + lax.stop_gradient(q - z)
    return jnp.sum((through - 1) ** 2) + jnp.sum((lax.stop_gradient(z) - q) ** 2)


def routed(w):
    p = jax.nn.softmax(w.reshape(3, 4))
    top, chosen = lax.top_k(p, 2)
    load = jnp.mean(jax.nn.one_hot(jnp.argmax(p, -1), 4), 0)
    return jnp.sum(top * jnp.take_along_axis(w.reshape(3, 4), chosen, 1)) + jnp.sum(load * jnp.mean(p, 0))


def gradient_penalty(w):
    g = jax.grad(lambda x: jnp.sum(jnp.tanh(x * w)))(jnp.ones(12))
    return (jnp.sqrt(jnp.sum(g**2) + 1e-12) - 1) ** 2


def masked_before(w):
    safe = jnp.where(w > 0, w, 1.0)
    return jnp.sum(jnp.where(w > 0, jnp.sqrt(safe), w))


def interpolated(w):
    table, low = jnp.arange(20.0) ** 2, jnp.floor(w)
    i = jnp.clip(low.astype(jnp.int32) + 5, 0, 18)
    return jnp.sum(table[i] + (w - low) * (table[i + 1] - table[i]))


def warmed_up(w):
    return jnp.sum(lax.fori_loop(0, 4, lambda i, h: jnp.tanh(h) * 1.1, w))


SOUND = [
    fraction, remainder, straight_through, own_straight_through, leaky, metric, dropped_out, stable_softmax,
    target, vector_quantised, routed, gradient_penalty, masked_before, interpolated, warmed_up,
]  # fmt: skip
