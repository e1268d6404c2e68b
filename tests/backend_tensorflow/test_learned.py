"""Learned parameters of a gradient: variables and tensors beside the op's inputs."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import surrogate

RNG = np.random.default_rng(0)
X, G = tf.constant(RNG.normal(size=(3, 5))), tf.constant(RNG.normal(size=(3, 5)))
SHAPES = [(), (5,), (3, 1)]


@pytest.fixture(params=SHAPES, ids=str)
def slope(request):
    return tf.Variable(RNG.uniform(0.5, 2, request.param))


def under(op, slope, function):
    def run(x):
        with surrogate.override("tensorflow", {op: surrogate.gradient(op, "tanh", slope=slope)}):
            return function(x)

    return run


def slopes(function, wrt, x=X):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, [x, wrt], output_gradients=G)


def same(found, wanted):
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)


MODES = {
    "eager": lambda f: f,
    "graph": tf.function,
    "xla": lambda f: tf.function(f, jit_compile=True),
}


@pytest.mark.parametrize("mode", MODES)
def test_the_cotangent_is_that_of_the_primitive(slope, mode):
    wanted = slopes(lambda x: tf.tanh(slope * x), slope)
    same(slopes(MODES[mode](under("sign", slope, tf.sign)), slope), wanted)


def test_a_tape_and_tf_gradients_inside_a_function(slope):
    wanted = slopes(lambda x: tf.tanh(slope * x), slope)
    same(tf.function(lambda x: slopes(under("sign", slope, tf.sign), slope, x))(X), wanted)
    inside = tf.function(lambda x: tf.gradients(under("sign", slope, tf.sign)(x), [x, slope], G))
    same(inside(X), wanted)


def test_a_function_called_inside_the_block(slope):
    function = tf.function(tf.sign)
    wanted = slopes(lambda x: tf.tanh(slope * x), slope)
    same(slopes(under("sign", slope, lambda x: function(x)), slope), wanted)


@pytest.mark.parametrize("mode", ["eager", "graph"])
def test_of_a_comparison(slope, mode):
    ours = under("greater", slope, lambda x: tf.cast(x > 0.5, x.dtype))
    same(slopes(MODES[mode](ours), slope), slopes(lambda x: (tf.tanh(slope * (x - 0.5)) + 1) / 2, slope))


@pytest.mark.parametrize("mode", ["eager", "graph"])
def test_of_a_composite(slope, mode):
    def ours(x):
        with surrogate.override("tensorflow", {"clip": surrogate.gradient("clip", "leaky", leak=slope)}):
            return tf.clip_by_value(x, -0.5, 0.5)

    def leaky(x):
        return tf.where(x < -0.5, slope * (x + 0.5), tf.where(x > 0.5, slope * (x - 0.5), x))

    same(slopes(MODES[mode](ours), slope), slopes(leaky, slope))


def test_forward_mode_and_second_derivatives(slope):
    ours, primitive = under("sign", slope, tf.sign), lambda x: tf.tanh(slope * x)
    found = []
    for function in (ours, primitive):
        with tf.autodiff.ForwardAccumulator(slope, tf.ones_like(slope)) as moved:
            y = function(X)
        with tf.GradientTape() as tape:
            first = slopes(function, slope)[1]
        found.append((moved.jvp(y), tape.gradient(first, slope)))
    same(*found)


@pytest.mark.parametrize("mode", ["eager", "graph"])
def test_a_tensor_that_only_an_accumulator_watches(slope, mode):
    k, moves = tf.constant(slope), tf.constant(RNG.normal(size=slope.shape))
    found = []
    for function in (lambda k: under("sign", k, tf.sign)(X), lambda k: tf.tanh(k * X)):
        with tf.autodiff.ForwardAccumulator(k, moves) as moved:
            y = MODES[mode](function)(k)
        found.append([moved.jvp(y)])
    same(*found)


def test_a_constant_input_and_a_tensor_made_of_a_variable():
    raw = tf.Variable(np.float64(0.3))

    def loss(make):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(G * make(tf.exp(raw)))
        return tape.gradient(y, raw)

    found = loss(lambda slope: under("sign", slope, tf.sign)(X))
    np.testing.assert_allclose(found, loss(lambda slope: tf.tanh(slope * X)), rtol=1e-12)


def test_a_keras_layer_learns_its_slope():
    class Layer(keras.Layer):
        def build(self, shape):
            self.slope = self.add_weight(shape=(), initializer="ones", name="slope")

        def call(self, x):
            with surrogate.override(
                "tensorflow", {"sign": surrogate.gradient("sign", "tanh", slope=self.slope)}
            ):
                return keras.ops.sign(x)

    model = keras.Sequential([keras.Input((4,)), Layer(), keras.layers.Dense(1, kernel_initializer="ones")])
    model.compile("sgd", "mse")
    x = np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4)
    model.fit(x, np.ones((3, 1), "float32"), epochs=2, verbose=0)
    assert float(model.layers[0].slope.value) != 1.0


def test_what_is_not_trained_is_refused():
    with pytest.raises(surrogate.ParameterError, match="not trained"):
        surrogate.gradient("sign", "tanh", slope=tf.Variable(1.0, trainable=False))
    with pytest.raises(surrogate.ParameterError, match="does not say what its derivative by o is"):
        surrogate.gradient("sign", "reste", o=tf.Variable(3.0))
