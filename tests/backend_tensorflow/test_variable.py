"""Variables in graphs: a hundred values, one trace, and each backward its forward's value."""

import numpy as np
import pytest
import tensorflow as tf

import surrogate
from surrogate import reference

X = np.array([[0.5, -0.25, 1.5], [1.0, 0.125, -2.0]])


@pytest.mark.parametrize("compiler", [None, True], ids=["graph", "xla"])
@pytest.mark.parametrize("name", ["tanh", "hardtanh"])
def test_a_hundred_values_are_one_trace(name, compiler):
    k, traces = surrogate.Variable(1.0), []
    found = surrogate.gradient("sign", name, **{"tanh": {"slope": k}, "hardtanh": {"width": k}}[name])

    @tf.function(jit_compile=compiler)
    def total(x):
        traces.append(x)
        return tf.reduce_sum(tf.sign(x))

    x = tf.constant(X)
    total(x)  # traced before there is an override: no variable may be made in a later trace
    with surrogate.override("tensorflow", {"sign": found}):
        for value in np.linspace(0.1, 3, 100):
            k.value = value
            expected = reference.vjp("sign", found, X)[0]
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = total(x)
            k.value = 7.0
            np.testing.assert_allclose(tape.gradient(y, x), expected, rtol=1e-12)
    assert len(traces) == 2


def test_it_is_read_inside_a_loop():
    k = surrogate.Variable(2.0)
    found = surrogate.gradient("sign", "tanh", slope=k)

    @tf.function
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.constant(0.0, tf.float64)
            for i in tf.range(2):
                y += tf.reduce_sum(tf.sign(x[i]))
        return tape.gradient(y, x)

    with surrogate.override("tensorflow", {"sign": found}):
        for value in (2.0, 0.5):
            k.value = value
            np.testing.assert_allclose(slope(tf.constant(X)), reference.vjp("sign", found, X)[0], rtol=1e-12)


def test_a_tensor_is_an_array():
    slope = tf.constant([1.0, 2.0, 3.0])
    found = surrogate.gradient("sign", "tanh", slope=slope)
    assert found is surrogate.gradient("sign", "tanh", slope=[1, 2, 3])
