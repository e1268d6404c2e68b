"""Second derivatives are those of the formula; forward mode refuses what has none."""

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_modes

import surrogate
from surrogate import reference


def twice(f, x, outer, inner):
    return outer(lambda x: inner(f, x), x)


PAIRS = {
    "eager": (tensorflow_modes.eager, tensorflow_modes.eager),
    "over a function": (tensorflow_modes.eager, tensorflow_modes.outer),
    "in a function": (tensorflow_modes.inner, tensorflow_modes.eager),
    "jit": (tensorflow_modes.jit_inner, tensorflow_modes.eager),
    "tf.gradients": (tensorflow_modes.symbolic, lambda f, x: tf.gradients(f(x), x)[0]),
    "forward over reverse": (tensorflow_modes.forward, tensorflow_modes.eager),
    "reverse over forward": (tensorflow_modes.eager, tensorflow_modes.forward),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_of_a_formula(pair, x):
    with surrogate.override("tensorflow", {"sign": "tanh(slope=0.5)"}):
        found = twice(tf.sign, x, *PAIRS[pair])
    np.testing.assert_allclose(found, reference.second("sign", "tanh(slope=0.5)", x)[0], rtol=1e-5)


@pytest.mark.parametrize("spec", ["hardtanh", "identity", "zero"])
@pytest.mark.parametrize("pair", ["eager", "in a function", "jit"])
def test_of_a_window_is_zero_and_not_none(pair, spec, x):
    with surrogate.override("tensorflow", {"sign": spec}):
        found = twice(tf.sign, x, *PAIRS[pair])
    np.testing.assert_array_equal(found, [0.0] * 4)


@pytest.mark.parametrize("pair", PAIRS)
def test_of_a_product_with_a_window(pair, x):
    """(sign(x) x)'' = 2 sign'(x)."""
    with surrogate.override("tensorflow", {"sign": "hardtanh"}):
        found = twice(lambda x: tf.sign(x) * x, x, *PAIRS[pair])
    np.testing.assert_array_equal(found, [0.0, 2.0, 2.0, 0.0])


def test_of_two_operands():
    x, y = tf.constant([5.0, -7.5]), tf.constant(2.0)
    with surrogate.override("tensorflow", {"floor_divide": "identity"}):
        with tf.GradientTape() as outside:
            outside.watch([x, y])
            with tf.GradientTape() as inside:
                inside.watch([x, y])
                z = x // y
            by_y = inside.gradient(z, y)
        found = outside.gradient(by_y, [x, y])
    np.testing.assert_allclose(found[0], [-0.25, -0.25])
    np.testing.assert_allclose(found[1], 2 * (5.0 - 7.5) / 8)


@pytest.mark.parametrize("mode", ["forward", "forward_inner", "forward_over"])
def test_a_gradient_that_depends_on_the_upstream_one_has_no_forward_mode(mode, x):
    with surrogate.override("tensorflow", {"relu": "guided"}):
        assert tensorflow_modes.eager(tf.nn.relu, x).numpy().tolist() == [0.0, 0.0, 1.0, 1.0]
        with pytest.raises(surrogate.ForwardModeError, match="relu:guided"):
            tensorflow_modes.ALL[mode](tf.nn.relu, x)


def test_nor_in_functions_that_are_called(x):
    inside = tf.function(tf.nn.relu)

    def f(x):
        return tf.cond(tf.reduce_sum(x) < 1e9, lambda: inside(x), lambda: x)

    with surrogate.override("tensorflow", {"relu": "guided"}):
        with pytest.raises(surrogate.ForwardModeError, match="relu:guided"):
            tensorflow_modes.forward_over(f, x)


def test_broadcast_operands_get_their_own_shape():
    x, y = tf.ones([2, 3]) * 5.0, tf.constant([2.0, 3.0, 4.0])
    for shape in ([3], [1, 3], [2, 1], []):
        v = tf.broadcast_to(y[0], shape)
        with surrogate.override("tensorflow", {"floor_divide": "identity"}):
            for f in (tf.math.floordiv, tf.function(tf.math.floordiv)):
                with tf.GradientTape() as tape:
                    tape.watch([x, v])
                    z = f(x, v)
                by_x, by_v = tape.gradient(z, [x, v])
                assert by_x.shape == x.shape
                assert by_v.shape == v.shape
                np.testing.assert_allclose(tf.reduce_sum(by_v), -6 * 5.0 / 4.0)


def test_unknown_shapes():
    @tf.function(input_signature=[tf.TensorSpec(None), tf.TensorSpec(None)])
    def slopes(x, y):
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            z = tf.clip_by_value(x // y, -y, y)
        return tape.gradient(z, [x, y])

    with surrogate.override("tensorflow", {"floor_divide": "identity", "clip": "closed"}):
        by_x, by_y = slopes(tf.constant([[1.0, 9.0], [3.0, -9.0]]), tf.constant(2.0))
    np.testing.assert_array_equal(by_x, [[0.5, 0.0], [0.5, 0.0]])
    np.testing.assert_allclose(by_y, -1 / 4 - 3 / 4 + 1 - 1)
