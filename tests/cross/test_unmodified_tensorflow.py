"""Code as it is written for TensorFlow and Keras, under rules for comparisons and argmax: it learns."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import surrogate
from surrogate.demo.digits import make_task


class LeakyIntegrateAndFire(keras.layers.Layer):
    """Spikes where the membrane passes 1, and is reset by them: how it is written everywhere."""

    def __init__(self, steps=6):
        super().__init__()
        self.steps = steps

    def call(self, current):
        v, spikes = tf.zeros_like(current), tf.zeros_like(current)
        for _ in range(self.steps):
            v = 0.8 * v + current
            s = tf.cast(v > 1.0, v.dtype)
            v = v - s
            spikes += s
        return spikes / self.steps


@pytest.mark.parametrize("jit", [False, True], ids=["function", "xla"])
def test_a_spiking_layer_learns_the_digits(jit):
    keras.utils.set_random_seed(0)
    task = make_task(epochs=1, seed=0)
    model = keras.Sequential([keras.layers.Dense(64), LeakyIntegrateAndFire(), keras.layers.Dense(10)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(5e-3), loss, metrics=["accuracy"], jit_compile=jit)
    with surrogate.override("tensorflow", {"compare": "arctan"}) as o:
        model.fit(task.x_train, task.y_train, epochs=15, batch_size=64, verbose=0)
    assert o.hits["greater"] >= 6
    assert model.evaluate(task.x_test, task.y_test, verbose=0)[1] > 0.9


def _quantized(z, codebook):
    """A bottleneck of vector quantisation: the nearest code."""
    distances = tf.reduce_sum(codebook**2, 1) - 2 * z @ tf.transpose(codebook)
    return tf.gather(codebook, tf.argmin(distances, axis=1))


def test_a_vector_quantizer_of_orthonormal_codes_passes_the_gradient_straight_through():
    random = np.random.default_rng(0)
    codes, _ = np.linalg.qr(random.normal(size=(4, 4)))
    z, w = tf.constant(random.normal(size=(5, 4))), random.normal(size=(5, 4))
    codebook = tf.constant(codes / 2**0.5)  # twice the projection on all codes is the identity
    with surrogate.override("tensorflow", {"argmin": "identity"}), tf.GradientTape() as tape:
        tape.watch(z)
        loss = tf.reduce_sum(_quantized(z, codebook) * w)
    with tf.GradientTape() as usual:
        usual.watch(z)
        q = tf.stop_gradient(_quantized(z, codebook))
        expected = tf.reduce_sum((z + tf.stop_gradient(q - z)) * w)
    np.testing.assert_allclose(tape.gradient(loss, z), usual.gradient(expected, z), rtol=1e-12, atol=1e-12)


def test_a_vector_quantizer_trains_its_encoder():
    keras.utils.set_random_seed(0)
    random = np.random.default_rng(0)
    centres = random.normal(size=(8, 16)).astype(np.float32)
    data = tf.constant(centres[random.integers(0, 8, 256)] + 0.05 * random.normal(size=(256, 16)), tf.float32)
    encoder, decoder = keras.layers.Dense(4), keras.layers.Dense(16)
    codebook = tf.Variable(random.normal(size=(16, 4)), dtype=tf.float32)
    optimizer = keras.optimizers.Adam(1e-2)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(decoder(_quantized(encoder(data), codebook)) - data))
        weights = [*encoder.trainable_variables, *decoder.trainable_variables, codebook]
        slopes = tape.gradient(loss, weights)
        optimizer.apply_gradients(zip(slopes, weights, strict=True))
        return loss, tf.norm(slopes[0])

    encoder(data), decoder(codebook)
    optimizer.build([*encoder.trainable_variables, *decoder.trainable_variables, codebook])
    with surrogate.override("tensorflow", {"argmin": "identity"}):
        losses = [tuple(map(float, step())) for _ in range(150)]
    assert min(slope for _, slope in losses) > 0
    assert losses[-1][0] < losses[0][0] / 2
