"""Programs for the audit of TensorFlow. A line at fault ends in ``#! kind:op|op``; every other line is sound.

Each is ``program(w)``, differentiated by ``w``, a vector of twelve numbers of both signs.
"""

import keras
import numpy as np
import tensorflow as tf

RAMP = tf.range(12, dtype=tf.float32)

# -- a derivative that is zero everywhere, eagerly and in compiled code ------------------------------


def sign(w):
    return tf.reduce_sum(tf.sign(w) * 0.5 + 1)  #! zero:sign


def round_(w):
    return tf.reduce_sum(tf.round(w * 3) ** 2)  #! zero:round


def rint(w):
    return tf.reduce_sum(tf.math.rint(w * 3) ** 2)  #! zero:round


def floor(w):
    return tf.reduce_sum(tf.floor(w) ** 2)  #! zero:floor


def ceil(w):
    return tf.reduce_sum(tf.math.ceil(w) ** 2)  #! zero:ceil


def floor_divide(w):
    return tf.reduce_sum((w // 0.5) ** 2)  #! zero:floor_divide


def keras_trunc(w):
    return tf.reduce_sum(keras.ops.floor(keras.ops.abs(w)) ** 2)  #! zero:floor


@tf.function
def compiled(w):
    return tf.reduce_sum(tf.floor(w) ** 2)  #! zero:floor


@tf.function(jit_compile=True)
def compiled_by_xla(w):
    return tf.reduce_sum(tf.sign(w) ** 2)  #! zero:sign


@tf.function
def in_autograph_loop(w):
    h = tf.zeros(())
    for x in w:
        h = tf.round(h + x)  #! zero:round
    return h**2


@tf.function
def in_autograph_branch(w):
    if tf.reduce_sum(w) > -100.0:
        w = tf.sign(w)  #! zero:sign
    return tf.reduce_sum(w**2)


@tf.function
def in_while_loop(w):
    def step(i, h):
        return i + 1, tf.floor(h * 0.5)  #! zero:floor

    return tf.reduce_sum(tf.while_loop(lambda i, h: i < 3, step, (0, w))[1])


@tf.function
def in_cond(w):
    def yes():
        return tf.sign(w)  #! zero:sign

    return tf.reduce_sum(tf.cond(tf.size(w) > 0, yes, lambda: w) ** 2)


@tf.function
def in_scan(w):
    def step(h, x):
        return tf.math.ceil(h + x)  #! zero:ceil

    return tf.reduce_sum(tf.scan(step, w, tf.zeros(())))


@tf.function
def in_map_fn(w):
    return tf.reduce_sum(tf.map_fn(lambda x: tf.round(x * 2), w))  #! zero:round


def recomputed(w):
    @tf.recompute_grad
    def block(x):
        return x * 2

    return tf.reduce_sum(tf.floor(block(w)))  #! zero:floor


def custom_gradient_of_zero(w):
    @tf.custom_gradient
    def quantised(x):
        return tf.round(x), tf.zeros_like

    return tf.reduce_sum(quantised(w) ** 2)  #! zero:custom_gradient|quantised


# -- the value leaves the differentiable world -------------------------------------------------------


def cast(w):
    return tf.reduce_sum(tf.cast(tf.cast(w, tf.int32), tf.float32) * 0.5)  #! cut:cast


def compare(w):
    return tf.reduce_sum(tf.cast(w > 0.1, tf.float32) * 2.0)  #! cut:gt


def argmax(w):
    return tf.gather(RAMP, tf.argmax(w))  #! cut:argmax


def top_k(w):
    _, chosen = tf.math.top_k(w, 2)  #! cut:topk
    return tf.reduce_sum(tf.gather(RAMP, chosen))


def argsort(w):
    return tf.reduce_sum(tf.gather(RAMP, tf.argsort(w)) * RAMP / 9.0)  #! cut:topk


def histogram(w):
    counts = tf.histogram_fixed_width(w, [-2.0, 2.0], 4)  #! cut:histogram_fixed_width
    return tf.reduce_sum(tf.cast(counts, tf.float32) * tf.constant([1.0, 2.0, 3.0, 4.0]))


def searchsorted(w):
    i = tf.searchsorted(tf.linspace(-1.0, 1.0, 5), w)  #! cut:upperbound|lowerbound
    return tf.reduce_sum(tf.cast(i, tf.float32) * 0.5)


def stopped(w):
    return tf.reduce_sum(tf.stop_gradient(w) ** 2)  #! cut:stop_gradient


def not_recorded(w):
    with tf.GradientTape() as tape:
        tape.watch(w)
        inner = tf.reduce_sum(w**2)
    return tf.stop_gradient(inner) * 2.0  #! cut:stop_gradient


def numpy(w):
    return tf.reduce_sum(tf.constant(w.numpy() ** 2))  #! cut:numpy


def as_array(w):
    return tf.reduce_sum(tf.constant(np.asarray(w) ** 2))  #! cut:numpy|untracked


def numpys_own_function(w):
    return tf.reduce_sum(tf.constant(np.sort(w)) * RAMP)  #! cut:numpy|untracked


def keras_to_numpy(w):
    return tf.reduce_sum(tf.constant(keras.ops.convert_to_numpy(w)) ** 2)  #! cut:numpy|untracked


def item(w):
    return tf.constant(float(tf.reduce_sum(w)) ** 2)  #! cut:item


def index(w):
    return RAMP[int(tf.reduce_sum(w)) % 12] + tf.constant(float(w[0]))  #! cut:item


def numpy_function(w):
    y = tf.numpy_function(np.sort, [w], tf.float32)  #! cut:numpy_function
    return tf.reduce_sum(tf.reshape(y, (12,)) * RAMP)


@tf.function
def numpy_function_in_a_function(w):
    y = tf.numpy_function(np.sort, [w], tf.float32)  #! cut:numpy_function
    return tf.reduce_sum(tf.reshape(y, (12,)) * RAMP)


def assigned(w):
    state = tf.Variable(tf.zeros(12), trainable=False)
    state.assign(w * 2)  #! cut:assignvariableop
    return tf.reduce_sum(state**2)


def unregistered(w):
    return tf.reduce_sum(tf.unique(w).y ** 2)  #! cut:unique


def a_term_of_the_loss(w):
    wrong = tf.cast(tf.abs(tf.argmax(w) - 3), tf.float32)  #! cut:argmax
    return tf.reduce_sum(w**2) + 0.1 * wrong


# -- numbers -----------------------------------------------------------------------------------------


def norm_at_zero(w):
    return tf.norm(w * 0.0)  #! nonfinite:sqrt


def angle(w):
    return tf.reduce_sum(tf.acos(tf.cos(w * 0.0)))  #! nonfinite:acos


def log_of_zero(w):
    return tf.reduce_sum(tf.math.log(tf.maximum(w, 0.0) + 0.0 * w))  #! nonfinite:log


def log_of_softmax(w):
    return -tf.reduce_sum(tf.math.log(tf.nn.softmax(w))[:3])  #! unstable:log


def dead(w):
    return tf.reduce_sum(tf.nn.relu(w - 1000.0) ** 2)  #! dead:relu


def saturated(w):
    return tf.reduce_sum(tf.sigmoid(w * 1000.0 + 1.0))  #! saturated:sigmoid


def exploding(w):
    m, h = tf.linalg.diag(w[:4] * 0 + 2.0), tf.reshape(w[4:8] * 1e-12, (4, 1))
    for _ in range(50):
        h = m @ h  #! exploding:matmul
    return tf.reduce_sum(h)


FAULTY = [
    sign, round_, rint, floor, ceil, floor_divide, keras_trunc, compiled, compiled_by_xla,
    in_autograph_loop, in_autograph_branch, in_while_loop, in_cond, in_scan, in_map_fn, recomputed,
    custom_gradient_of_zero, cast, compare, argmax, top_k, argsort, histogram, searchsorted, stopped,
    not_recorded, numpy, as_array, numpys_own_function, keras_to_numpy, item, index, numpy_function,
    numpy_function_in_a_function, assigned, unregistered, a_term_of_the_loss, norm_at_zero, angle,
    log_of_zero, log_of_softmax, dead, saturated, exploding,
]  # fmt: skip


# -- sound -------------------------------------------------------------------------------------------


def fraction(w):
    return tf.reduce_sum((w - tf.floor(w)) ** 2)


def remainder(w):
    return tf.reduce_sum(w % 1.0)


def straight_through(w):
    return tf.reduce_sum((w + tf.stop_gradient(tf.round(w) - w)) ** 2)


def own_straight_through(w):
    @tf.custom_gradient
    def quantised(x):
        return tf.round(x), lambda g: g

    return tf.reduce_sum(quantised(w) ** 2)


def fake_quantised(w):
    return tf.reduce_sum(tf.quantization.fake_quant_with_min_max_args(w, -1.5, 1.5) ** 2)


def leaky(w):
    return tf.reduce_sum(tf.where(w > 0, w, 0.1 * w))


def metric(w):
    print(int(tf.argmax(w)), float(tf.reduce_mean(w)), w.numpy()[:2], bool(tf.reduce_any(w > 0)))
    return tf.reduce_sum(w**2)


def dropped_out(w):
    return tf.reduce_sum(tf.nn.dropout(w, 0.5) ** 2)


def stable_softmax(w):
    e = tf.exp(w - tf.stop_gradient(tf.reduce_max(w)))
    return tf.reduce_sum((e / tf.reduce_sum(e)) * RAMP)


def target(w):
    return tf.reduce_sum((w * 2 - tf.stop_gradient(w * 0.9)) ** 2)


def vector_quantised(w):
    z, codes = w[:4], w[4:]
    q = tf.gather(codes, tf.argmin((z[:, None] - codes) ** 2, 1))
    through = z + tf.stop_gradient(q - z)
    return tf.reduce_sum((through - 1) ** 2) + tf.reduce_sum((tf.stop_gradient(z) - q) ** 2)


def routed(w):
    logits = tf.reshape(w, (3, 4))
    p = tf.nn.softmax(logits)
    top, chosen = tf.math.top_k(p, 2)
    load = tf.reduce_mean(tf.one_hot(tf.argmax(p, -1), 4), 0)
    picked = tf.gather(logits, chosen, batch_dims=1)
    return tf.reduce_sum(top * picked) + tf.reduce_sum(load * tf.reduce_mean(p, 0))


def gradient_penalty(w):
    x = tf.ones(12)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.tanh(x * w))
    g = tape.gradient(y, x)
    return (tf.sqrt(tf.reduce_sum(g**2) + 1e-12) - 1) ** 2


def masked_before(w):
    safe = tf.where(w > 0, w, 1.0)
    return tf.reduce_sum(tf.where(w > 0, tf.sqrt(safe), w))


def masked_after(w):
    """TensorFlow's own gradient of sqrt is 0 where the incoming one is."""
    return tf.reduce_sum(tf.where(w > 0, tf.sqrt(tf.maximum(w, 0.0)), w))


def interpolated(w):
    table, low = RAMP**2, tf.floor(w)
    i = tf.clip_by_value(tf.cast(low, tf.int32) + 5, 0, 10)
    here, there = tf.gather(table, i), tf.gather(table, i + 1)
    return tf.reduce_sum(here + (w - low) * (there - here))


@tf.function
def branch_on_a_value(w):
    if tf.reduce_sum(w) > 0:
        w = w * 2
    return tf.reduce_sum(w**2)


SOUND = [
    fraction, remainder, straight_through, own_straight_through, fake_quantised, leaky, metric, dropped_out,
    stable_softmax, target, vector_quantised, routed, gradient_penalty, masked_before, masked_after,
    interpolated, branch_on_a_value,
]  # fmt: skip
