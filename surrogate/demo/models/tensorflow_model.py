"""A binarised and quantised network in plain TensorFlow and Keras, trained by Adam."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf


class Network(keras.Model):  # type: ignore[misc]  # keras has no types
    """Binary weights and activations, then activations of 7 levels, then a binary read-out."""

    def __init__(self, start: Any) -> None:
        super().__init__()
        names = ("w1", "b1", "w2", "b2", "w3")
        for name, value in zip(names, start, strict=True):
            initial = keras.initializers.Constant(value)
            setattr(self, name, self.add_weight(shape=value.shape, initializer=initial, name=name))

    def call(self, x: Any) -> Any:
        """The scores of the ten digits."""
        h = tf.sign(x @ tf.sign(self.w1) / self.w1.shape[0] ** 0.5 + self.b1)
        z = h @ tf.sign(self.w2) / self.w2.shape[0] ** 0.5 + self.b2
        q = tf.round(3 * tf.clip_by_value(z, -1.0, 1.0)) / 3
        return 2 * q @ tf.sign(self.w3) / self.w3.shape[0] ** 0.5


def train(task: Any, on_epoch: Callable[[float], None]) -> tuple[list[float], float]:
    """The test accuracy before and after each epoch, and the share of weights that got a gradient."""
    network = Network(task.weights)
    weights = network.trainable_variables
    optimiser = keras.optimizers.Adam(beta_1=0.9, beta_2=0.999, epsilon=1e-8)
    optimiser.build(weights)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    reached = [tf.Variable(tf.zeros(w.shape, tf.bool)) for w in weights]

    def update(x: Any, y: Any) -> None:
        with tf.GradientTape() as tape:
            value = loss(y, network(x))
        gradients = tape.gradient(value, [w.value for w in weights], unconnected_gradients="zero")
        optimiser.apply(gradients, weights)
        for w, g, seen in zip(weights, gradients, reached, strict=True):
            w.assign(tf.clip_by_value(w.value, -1.0, 1.0))
            seen.assign(seen | (g != 0))

    update = tf.function(update, jit_compile=task.compiled)

    def accuracy() -> float:
        guess = tf.argmax(network(task.x_test), axis=1)
        return float(tf.reduce_mean(tf.cast(guess == task.y_test, tf.float32)))

    accuracies = [accuracy()]
    for epoch in range(task.epochs):
        for i, (x, y) in enumerate(task.batches(epoch), start=epoch * task.steps):
            optimiser.learning_rate.assign(task.rate(i))
            update(tf.constant(x), tf.constant(y))
        accuracies.append(accuracy())
        on_epoch(accuracies[-1])
    flat = tf.concat([tf.reshape(seen, [-1]) for seen in reached], axis=0)
    return accuracies, float(tf.reduce_mean(tf.cast(flat, tf.float32)))
