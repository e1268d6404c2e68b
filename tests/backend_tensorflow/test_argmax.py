"""The index of an ``argmax``: through its one-hot vector to whatever is made of it."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tensorflow.experimental.numpy as tnp
import tensorflow_modes

import surrogate
from surrogate import reference

F = tf.float64
X = np.array([[0.5, -1.0, 2.0], [1.0, 3.0, 0.25]])
W = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
TABLE = np.arange(12.0).reshape(3, 4) / 2 - 1
LONGER = np.concatenate([TABLE, TABLE[:1]])
UP = np.array([[1.0, -2.0, 0.5, 3.0], [0.25, 1.0, -1.0, 2.0]])
ROWS = UP @ TABLE.T  # <g, table[j]>
variable = tf.Variable(TABLE)
embedding = keras.layers.Embedding(3, 4, dtype="float64", weights=[TABLE])
embedding.build(None)

#: What is done with the index along the last axis -> the cotangent of its one-hot vectors.
CASES = {
    "one_hot": (lambda i: tf.one_hot(i, 3, dtype=F) * W, W),
    "one_hot, on and off": (
        lambda i: tf.one_hot(i, 3, on_value=tf.constant(5.0, F), off_value=tf.constant(2.0, F)) * W,
        3 * W,
    ),
    "one_hot, first axis": (lambda i: tf.one_hot(i, 3, axis=0, dtype=F) * W.T, W),
    "one_hot, more classes": (lambda i: tf.one_hot(i, 5, dtype=F)[:, :3] * W, W),
    "one_hot, fewer classes": (lambda i: tf.one_hot(i, 2, dtype=F) * W[:, :2], W * [1, 1, 0]),
    "one_hot of booleans": (lambda i: tf.cast(tf.one_hot(i, 3, True, False), F) * W, W),
    "keras one_hot": (lambda i: keras.ops.one_hot(i, 3, dtype="float64") * W, W),
    "gather": (lambda i: tf.gather(TABLE, i) * UP, ROWS),
    "gather, another axis": (lambda i: tf.gather(TABLE.T, i, axis=1) * UP.T, ROWS),
    "gather, more rows": (lambda i: tf.gather(LONGER, i) * UP, ROWS),
    "gather, batches": (lambda i: tf.gather(W, i, batch_dims=1, axis=1) * UP[:, 0], W * UP[:, :1]),
    "of a variable": (lambda i: tf.gather(variable, i) * UP, ROWS),
    "embedding_lookup": (lambda i: tf.nn.embedding_lookup(variable, i) * UP, ROWS),
    "Embedding": (lambda i: embedding(i) * UP, ROWS),
    "keras take": (lambda i: keras.ops.take(TABLE, i, axis=0) * UP, ROWS),
    "tnp take": (lambda i: tnp.take(TABLE, i, axis=0) * UP, ROWS),
    "keras take_along_axis": (
        lambda i: keras.ops.take_along_axis(W, i[:, None], axis=1)[:, 0] * UP[:, 0],
        W * UP[:, :1],
    ),
    "tnp take_along_axis": (
        lambda i: tnp.take_along_axis(W, i[:, None], axis=1)[:, 0] * UP[:, 0],
        W * UP[:, :1],
    ),
    "== k": (lambda i: tf.cast(i == 1, F) * UP[:, 0], UP[:, :1] * [0.0, 1.0, 0.0]),
    "!= k": (lambda i: tf.cast(i != 1, F) * UP[:, 0], -UP[:, :1] * [0.0, 1.0, 0.0]),
    "== range": (lambda i: tf.cast(i[:, None] == tf.range(3, dtype=i.dtype), F) * W, W),
    "where of == k": (
        lambda i: tf.where(tf.equal(i, 2), UP[:, 0], UP[:, 1]),
        (UP[:, :1] - UP[:, 1:2]) * [0.0, 0.0, 1.0],
    ),
    "float": (lambda i: tf.cast(i, F) * UP[:, 0], UP[:, :1] * [0.0, 1.0, 2.0]),
    "integer arithmetic": (lambda i: tf.cast(i * 2 + 1, F) * UP[:, 0], UP[:, :1] * [0.0, 2.0, 4.0]),
    "reshape": (lambda i: tf.gather(TABLE, tf.reshape(i, [2, 1]))[:, 0] * UP, ROWS),
    "transpose": (lambda i: tf.gather(TABLE, tf.transpose(i[None]))[:, 0] * UP, ROWS),
    "slice": (lambda i: tf.gather(TABLE, i[1:]) * UP[1:], ROWS * [[0.0], [1.0]]),
    "reverse": (lambda i: tf.gather(TABLE, i[::-1]) * UP[::-1], ROWS),
    "to int32": (lambda i: tf.gather(TABLE, tf.cast(i, tf.int32)) * UP, ROWS),
    "expand and squeeze": (lambda i: tf.squeeze(tf.gather(TABLE, tf.expand_dims(i, 0)), 0) * UP, ROWS),
}
FINDERS = {
    "tf": lambda x: tf.argmax(x, 1),
    "negative axis": lambda x: tf.math.argmax(x, axis=-1, output_type=tf.int32),
    "other axis": lambda x: tf.argmax(tf.transpose(x), 0),
    "keras": lambda x: keras.ops.argmax(x, axis=-1),
    "keras keepdims": lambda x: keras.ops.argmax(x, axis=-1, keepdims=True)[:, 0],
    "tnp": lambda x: tnp.argmax(x, axis=1),
    "raw": lambda x: tf.raw_ops.ArgMax(input=x, dimension=1),
    "argmin": lambda x: tf.argmin(-x, 1),
    "keras argmin": lambda x: keras.ops.argmin(-x, axis=1),
}
MODES = ("eager", "variable", "outer", "inner", "symbolic", "jit_inner", "cond_outer")


def expected(spec, g):
    return reference.vjp("argmax", spec, X, g=g, one_hot=True, axis=-1)[0]


def check(f, spec, g, mode):
    if mode == "cond_outer":
        whole = f

        def f(x):
            return tf.broadcast_to(tf.reduce_sum(whole(x)) / X.size, X.shape)

    with surrogate.override("tensorflow", {"argmax": spec, "argmin": spec}):
        found = tensorflow_modes.ALL[mode](f, tf.constant(X))
    np.testing.assert_allclose(found, expected(spec, g), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES)
def test_what_is_done_with_the_index(case, mode):
    f, g = CASES[case]
    check(lambda x: f(tf.argmax(x, 1)), "softmax(temperature=0.5)", g, mode)


@pytest.mark.parametrize("spec", ["identity", "softmax"])
@pytest.mark.parametrize("mode", ["eager", "outer", "inner"])
@pytest.mark.parametrize("spelling", FINDERS)
def test_every_spelling_of_argmax(spelling, mode, spec):
    check(lambda x: tf.gather(TABLE, FINDERS[spelling](x)) * UP, spec, ROWS, mode)


@pytest.mark.parametrize("case", CASES)
def test_the_value_is_native_bit_by_bit(case):
    f, x = CASES[case][0], tf.constant(X)
    native = f(tf.argmax(x, 1)).numpy()
    with surrogate.override("tensorflow", {"argmax": "softmax"}), tf.GradientTape() as tape:
        tape.watch(x)
        found = f(tf.argmax(x, 1))
        traced = tf.function(lambda x: f(tf.argmax(x, 1)), autograph=False)(x)
    assert found.numpy().tobytes() == native.tobytes() == traced.numpy().tobytes()


def test_the_table_keeps_its_own_gradient():
    with surrogate.override("tensorflow", {"argmax": "identity"}), tf.GradientTape(persistent=True) as tape:
        x = tf.constant(X)
        tape.watch(x)
        y = tf.gather(variable, tf.argmax(x, 1)) * UP
    np.testing.assert_array_equal(tape.gradient(y, x), ROWS)
    np.testing.assert_array_equal(tf.convert_to_tensor(tape.gradient(y, variable)), [[0] * 4, UP[1], UP[0]])


@pytest.mark.parametrize("mode", ["eager", "outer", "inner", "symbolic"])
def test_the_index_of_a_vector_has_no_other_axes(mode):
    x, g = np.array([-1.0, 0.2, 0.7, 2.0]), np.array([1.0, 2.0, 3.0, 4.0])

    def f(x):
        return tf.broadcast_to(tf.reduce_sum(tf.one_hot(tf.argmax(x), 4, dtype=F) * g) / x.shape[0], x.shape)

    with surrogate.override("tensorflow", {"argmax": "softmax"}):
        found = tensorflow_modes.ALL[mode](f, tf.constant(x))
    p = np.exp(x) / np.exp(x).sum()
    np.testing.assert_allclose(found, p * (g - (p * g).sum()), rtol=1e-12, atol=1e-12)
