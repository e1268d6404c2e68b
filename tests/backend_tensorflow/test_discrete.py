"""Booleans keep their origin: every op on them has the gradient of the same op on heaviside's floats."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tensorflow.experimental.numpy as tnp
import tensorflow_modes

import surrogate

F = tf.float64
X = np.array([[-1.5, -0.25, 0.5], [1.25, -0.75, 2.0]])
W = np.array([[0.5, -1.0, 2.0], [3.0, 0.25, -0.5]])
U, V = W + 1, W * W
RULE = "sigmoid(slope=2)"


def on(x):
    return x > 0


def h(x):
    """The float twin of :func:`on`."""
    return tnp.heaviside(x, tf.constant(0.0, F))


def cast(b):
    return tf.cast(b, F)


#: What is done with a boolean -> the same with its float twin.
CASES = {
    "cast": (lambda x: cast(on(x)) * W, lambda x: h(x) * W),
    "cast to float32": (lambda x: tf.cast(on(x), tf.float32) * W, lambda x: h(x) * W),
    "keras cast": (lambda x: keras.ops.cast(on(x), "float64") * W, lambda x: h(x) * W),
    "tnp product": (lambda x: tnp.multiply(on(x), W), lambda x: h(x) * W),
    "not": (lambda x: cast(~on(x)) * W, lambda x: (1 - h(x)) * W),
    "logical_not": (lambda x: cast(tf.logical_not(on(x))) * W, lambda x: (1 - h(x)) * W),
    "and": (lambda x: cast(on(x) & (x < 1)) * W, lambda x: h(x) * (1 - h(x - 1)) * W),
    "and a constant": (lambda x: cast(on(x) & (W > 0)) * W, lambda x: h(x) * (W > 0) * W),
    "or": (
        lambda x: cast(tf.logical_or(on(x), x < -1)) * W,
        lambda x: (h(x) + h(-1 - x) - h(x) * h(-1 - x)) * W,
    ),
    "xor": (
        lambda x: cast(tf.math.logical_xor(on(x), x > 1)) * W,
        lambda x: (h(x) + h(x - 1) - 2 * h(x) * h(x - 1)) * W,
    ),
    "^": (lambda x: cast(on(x) ^ (W > 0)) * W, lambda x: (h(x) * (1 - 2.0 * (W > 0)) + (W > 0)) * W),
    "keras logical_and": (
        lambda x: cast(keras.ops.logical_and(on(x), x < 1)) * W,
        lambda x: h(x) * (1 - h(x - 1)) * W,
    ),
    "!= of booleans": (
        lambda x: cast(tf.not_equal(on(x), W > 0)) * W,
        lambda x: (h(x) * (1 - 2.0 * (W > 0))) * W,
    ),
    "== of booleans": (
        lambda x: cast(tf.equal(on(x), W > 0)) * W,
        lambda x: (h(x) * (2.0 * (W > 0) - 1)) * W,
    ),
    "all": (
        lambda x: cast(tf.reduce_all(x > -2, axis=1)) * W[:, 0],
        lambda x: tf.reduce_prod(h(x + 2), axis=1) * W[:, 0],
    ),
    "any": (
        lambda x: cast(tf.reduce_any(on(x), axis=0, keepdims=True)) * W,
        lambda x: (1 - tf.reduce_prod(1 - h(x), axis=0, keepdims=True)) * W,
    ),
    "where": (lambda x: tf.where(on(x), U, V), lambda x: h(x) * (U - V)),
    "where of tensors that learn": (
        lambda x: tf.where(on(x), x * U, V * x),
        lambda x: h(x) * x * U + (1 - h(x)) * V * x,
    ),
    "where, broadcast": (lambda x: tf.where(on(x)[:, :1], U, 0.0), lambda x: h(x)[:, :1] * U),
    "keras where": (lambda x: keras.ops.where(on(x), U, V), lambda x: h(x) * (U - V)),
    "tnp where": (lambda x: tnp.where(on(x), U, V), lambda x: h(x) * (U - V)),
    "compat where": (
        lambda x: tf.compat.v1.where(on(x), tf.constant(U), tf.constant(V)),
        lambda x: h(x) * (U - V),
    ),
    "where of booleans": (
        lambda x: cast(tf.where(on(x), x > 1, x < -1)) * W,
        lambda x: (h(x) * h(x - 1) + (1 - h(x)) * h(-1 - x)) * W,
    ),
    "reshape": (lambda x: cast(tf.reshape(on(x), [3, 2])) * W.reshape(3, 2), lambda x: h(x) * W),
    "transpose": (lambda x: cast(tf.transpose(on(x))) * W.T, lambda x: h(x) * W),
    "expand_dims": (lambda x: cast(tf.expand_dims(on(x), -1))[..., 0] * W, lambda x: h(x) * W),
    "squeeze": (lambda x: cast(tf.squeeze(on(x)[None], 0)) * W, lambda x: h(x) * W),
    "slice": (lambda x: cast(on(x)[:, 1:]) * W[:, 1:], lambda x: h(x)[:, 1:] * W[:, 1:]),
    "constant index": (lambda x: cast(on(x)[1]) * W[1], lambda x: h(x)[1] * W[1]),
    "gather": (lambda x: cast(tf.gather(on(x), [2, 0], axis=1)), lambda x: tf.gather(h(x), [2, 0], axis=1)),
    "gather_nd": (
        lambda x: cast(tf.gather_nd(on(x), [[0, 1], [1, 2]])),
        lambda x: tf.gather_nd(h(x), [[0, 1], [1, 2]]),
    ),
    "stack": (lambda x: cast(tf.stack([on(x), x > 1])) * W, lambda x: tf.stack([h(x), h(x - 1)]) * W),
    "unstack": (lambda x: cast(tf.unstack(on(x), axis=1)[2]) * W[:, 0], lambda x: h(x)[:, 2] * W[:, 0]),
    "concat": (lambda x: cast(tf.concat([on(x), W > 0], 0)), lambda x: h(x)),
    "split": (lambda x: cast(tf.split(on(x), 3, axis=1)[1]) * W[:, :1], lambda x: h(x)[:, 1:2] * W[:, :1]),
    "tile": (lambda x: cast(tf.tile(on(x), [2, 1])), lambda x: 2 * h(x)),
    "broadcast_to": (lambda x: cast(tf.broadcast_to(on(x), [4, 2, 3])) * W, lambda x: 4 * h(x) * W),
    "repeat": (lambda x: cast(tf.repeat(on(x), 2, axis=0)), lambda x: 2 * h(x)),
    "reverse": (lambda x: cast(tf.reverse(on(x), [1])) * W, lambda x: h(x)[:, ::-1] * W),
    "roll": (lambda x: cast(tf.roll(on(x), 1, axis=1)) * W, lambda x: tf.roll(h(x), 1, axis=1) * W),
    "pad": (lambda x: cast(tf.pad(tf.cast(on(x), tf.int32), [[0, 1], [1, 0]])), lambda x: h(x)),
    "identity": (lambda x: cast(tf.identity(on(x))) * W, lambda x: h(x) * W),
    "keras concatenate": (lambda x: cast(keras.ops.concatenate([on(x), on(x)])), lambda x: 2 * h(x)),
    "through an integer": (lambda x: cast(tf.cast(on(x), tf.int64)) * W, lambda x: h(x) * W),
    "there and back": (lambda x: cast(tf.cast(tf.cast(on(x), tf.int32), tf.bool)) * W, lambda x: h(x) * W),
    "integers": (
        lambda x: cast((tf.cast(on(x), tf.int32) * 2 - 1) * tf.constant([1, 2, 3])),
        lambda x: (h(x) * 2 - 1) * [1.0, 2.0, 3.0],
    ),
    "integer division": (lambda x: tf.cast(on(x), tf.int32) / 2, lambda x: h(x) / 2),
    "integer // 2 * 2 + 1": (lambda x: cast(tf.cast(on(x), tf.int32) // 2 * 2 + 1), lambda x: h(x)),
    "count_nonzero": (lambda x: cast(tf.math.count_nonzero(on(x), 1)) * W[:, 0], lambda x: h(x) * W[:, :1]),
    "keras count_nonzero": (
        lambda x: cast(keras.ops.count_nonzero(on(x), axis=1)) * W[:, 0],
        lambda x: h(x) * W[:, :1],
    ),
    "sum of integers": (lambda x: cast(tf.reduce_sum(tf.cast(on(x), tf.int32))), lambda x: h(x)),
    "max of integers": (
        lambda x: cast(tf.reduce_max(tf.cast(on(x), tf.int32) * [1, 2, 3], 1)) * W[:, 0],
        lambda x: tf.reduce_max(h(x) * [1.0, 2.0, 3.0], 1) * W[:, 0],
    ),
    "mean": (lambda x: tf.reduce_mean(cast(on(x)), 0) * W[0], lambda x: tf.reduce_mean(h(x), 0) * W[0]),
    "a count compared again": (
        lambda x: cast(tf.reduce_sum(tf.cast(on(x), tf.int32), 1) > 1) * W[:, 0],
        lambda x: h(tf.reduce_sum(h(x), 1) - 1) * W[:, 0],
    ),
    "used twice": (lambda x: cast(on(x)) * tf.where(on(x), U, V), lambda x: h(x) * (h(x) * (U - V) + V)),
}
MODES = ("eager", "variable", "outer", "inner", "symbolic", "jit_inner", "while_inner", "cond_outer")


def expected(twin):
    with surrogate.override("tensorflow", {"heaviside": RULE}):
        return tensorflow_modes.eager(twin, tf.constant(X)).numpy()


# tf.cond of the modes compares, too, to decide which code runs
@pytest.mark.filterwarnings("ignore:.*which code runs:surrogate.SurrogateWarning")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES)
def test_has_the_gradient_of_the_float_twin(case, mode):
    f, twin = CASES[case]
    if mode in ("while_inner", "cond_outer"):
        whole, shape = f, X.shape

        def f(x):  # a loop variable keeps its shape
            return tf.broadcast_to(tf.reduce_sum(tf.cast(whole(x), F)) / X.size, shape)

    with surrogate.override("tensorflow", {"compare": RULE}) as o:
        found = tensorflow_modes.ALL[mode](f, tf.constant(X))
    np.testing.assert_allclose(found, expected(twin), rtol=1e-12, atol=1e-12)
    assert sum(o.hits.values()) >= 1


@pytest.mark.parametrize("graph", [False, True], ids=["eager", "graph"])
@pytest.mark.parametrize("case", CASES)
def test_the_value_is_native_bit_by_bit(case, graph):
    f, x = CASES[case][0], tf.constant(X)
    native = f(x).numpy()
    with surrogate.override("tensorflow", {"compare": RULE}), tf.GradientTape() as tape:
        tape.watch(x)
        found = (tf.function(f, autograph=False) if graph else f)(x)
    assert found.dtype == native.dtype
    assert found.numpy().tobytes() == native.tobytes()


PLACES = {
    "gather_nd": lambda x, i: tf.gather_nd(x, i[:, None]),
    "item": lambda x, i: x[i[0]],
    "range": lambda x, i: x[i[0] : i[1]],
    "tile": lambda x, i: tf.tile(x, i[:1]),
    "reshape": lambda x, i: tf.reshape(x, tf.stack([i[1], 2])),
    "segments": lambda x, i: tf.math.unsorted_segment_sum(x, tf.concat([i, i], 0), 4),
    "roll": lambda x, i: tf.roll(x, i[1], 0),
    "broadcast": lambda x, i: tf.broadcast_to(x, tf.stack([i[1], 4])),
    "pad": lambda x, i: tf.pad(x, [[i[0], i[1]]]),
    "cumsum": lambda x, i: tf.cumsum(x, i[0] - 1),
    "sum": lambda x, i: tf.reduce_sum(x, i[0] - 1),
    "concat": lambda x, i: tf.concat([x, x], i[0] - 1),
}


@pytest.mark.filterwarnings("ignore:the override of astype")  # of a graph what becomes a float is counted
@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("graph", [False, True])
def test_integers_that_say_where_elements_are_leave_their_gradient_alone(name, graph):
    x, at = tf.constant([0.5, 1.0, 4.0, 9.0]), tf.constant([1.25, 2.5])

    def g(x, at):
        with tf.GradientTape() as tape:
            tape.watch([x, at])
            y = PLACES[name](x, tf.cast(at, tf.int32))
        return tf.convert_to_tensor(tape.gradient(y, x))

    right = (tf.function(g) if graph else g)(x, at)
    with (
        surrogate.override("tensorflow", {"astype": "identity"}),
        pytest.warns(surrogate.SurrogateWarning, match="it says where elements are"),
    ):
        found = (tf.function(g) if graph else g)(x, at)
    assert found.numpy().tolist() == right.numpy().tolist()
