"""Programs written from the README and the wish list alone, before their author read a rule of the audit.

Ten have one planted fault each, at the line that says so; five are sound.
"""

import keras
import numpy as np
import tensorflow as tf
from keras import layers


def accuracy_as_a_loss():
    """The share of wrong answers is minimised."""
    w = tf.Variable(tf.random.normal([5, 1]), name="w")

    def loss(x, y):
        logits = tf.squeeze(x @ w, 1)
        guess = tf.cast(logits > 0.0, tf.float32)  # plant: cut|zero
        return tf.reduce_mean(tf.abs(guess - y))

    return loss, (tf.random.normal([12, 5]), tf.ones([12])), {"wrt": {"w": w}}


def clipped_in_numpy():
    """An image model that clips its output with NumPy before the loss."""
    model = keras.Sequential(
        [layers.Input((8, 8, 1)), layers.Conv2D(2, 3, activation="relu"), layers.Conv2D(1, 3)]
    )

    def loss(images):
        shown = np.clip(model(images).numpy(), 0.0, 1.0)  # plant: cut
        return tf.reduce_mean(tf.square(tf.constant(shown) - images[:, 2:-2, 2:-2]))

    return (
        loss,
        (tf.random.uniform([2, 8, 8, 1]),),
        {"wrt": {v.path: v.value for v in model.trainable_variables}},
    )


def state_kept_in_a_variable():
    """A cell's state is assigned to a variable and read from there."""
    w = tf.Variable(tf.random.normal([4, 4]), name="w")
    state = tf.Variable(tf.zeros([2, 4]), trainable=False)

    def loss(xs):
        state.assign(tf.zeros([2, 4]))
        for x in tf.unstack(xs):
            state.assign(tf.tanh(tf.matmul(x, w)))  # plant: cut
        return tf.reduce_mean(tf.square(state))

    return loss, (tf.random.normal([3, 2, 4]),), {"wrt": {"w": w}}


def quantised_in_a_functional_model():
    """A bottleneck of three levels, in a Lambda layer."""

    def levels(x):
        return tf.round(x * 2.0) / 2.0  # plant: zero

    inputs = keras.Input((6,))
    code = layers.Dense(3, activation="sigmoid")(inputs)
    outputs = layers.Dense(6)(layers.Lambda(levels)(code))
    model = keras.Model(inputs, outputs)
    x = tf.random.normal([10, 6])
    return model, (x,), {"loss": lambda y: tf.reduce_mean(tf.square(y - x))}


def greedy_decoding():
    """The next token is the most likely one, in a loop of a tf.function."""
    table = tf.Variable(tf.random.normal([7, 4]), name="table")
    out = tf.Variable(tf.random.normal([4, 7]), name="out")
    reward = tf.random.normal([7])

    @tf.function
    def loss(start):
        token = start
        total = 0.0
        for _ in tf.range(4):
            logits = tf.matmul(tf.gather(table, token), out)
            token = tf.argmax(logits, axis=-1, output_type=tf.int32)  # plant: cut|zero
            total += tf.reduce_mean(tf.gather(reward, token))
        return total

    return loss, (tf.constant([1, 3, 5]),), {"wrt": {"table": table, "out": out}}


def stopped_by_a_shared_helper():
    """A helper made for targets is used for predictions as well."""
    online = layers.Dense(4)
    online.build((None, 6))

    def project(h):
        h = tf.stop_gradient(h)  # plant: cut
        return tf.math.l2_normalize(h, axis=-1)

    @tf.function
    def loss(a, b):
        return -tf.reduce_mean(tf.reduce_sum(project(online(a)) * project(online(b)), -1))

    wrt = {v.path: v.value for v in online.trainable_variables}
    return loss, (tf.random.normal([5, 6]), tf.random.normal([5, 6])), {"wrt": wrt}


def deviation_of_a_constant():
    """Standardised by hand; a feature that is the same in the whole batch."""
    w = tf.Variable([[1.0], [0.5]], name="w")

    def loss(x):
        h = x @ tf.linalg.diag(tf.squeeze(w, 1))
        centred = h - tf.reduce_mean(h, 0)
        deviation = tf.sqrt(tf.reduce_mean(tf.square(centred), 0))  # plant: nonfinite
        return tf.reduce_sum(deviation)

    return loss, (tf.constant([[1.0, 2.0], [1.0, 3.0], [1.0, 5.0]]),), {"wrt": {"w": w}}


def fifteen_sigmoids():
    """A deep stack of logistic layers with small weights."""
    weights = [tf.Variable(tf.random.normal([8, 8], stddev=0.05), name=f"w{i}") for i in range(15)]

    def loss(x):
        for w in weights:
            x = tf.sigmoid(tf.matmul(x, w))  # plant: vanishing
        return tf.reduce_mean(tf.square(x - 1.0))

    return loss, (tf.random.normal([6, 8]),), {"wrt": {w.name: w for w in weights}}


def layer_that_is_never_called():
    """A skip connection that was meant to have its own projection."""

    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self.main = layers.Dense(5, activation="tanh", name="main")
            self.skip = layers.Dense(5, name="skip")  # plant: unreached skip
            self.skip.build((None, 5))

        def call(self, x):
            return self.main(x) + x

    return Net(), (tf.random.normal([4, 5]),), {"loss": lambda y: tf.reduce_mean(tf.square(y))}


def cast_to_whole_numbers_in_fit():
    """A layer that counts, trained with fit."""

    class Count(layers.Layer):
        def call(self, x):
            whole = tf.cast(x * 10.0, tf.int32)  # plant: cut|zero
            return tf.cast(whole, tf.float32) / 10.0

    model = keras.Sequential([layers.Input((4,)), layers.Dense(6), Count(), layers.Dense(1)])
    model.compile("sgd", "mse")
    x, y = np.random.default_rng(0).normal(size=(16, 4)), np.ones(16)

    def train():
        return model.fit(x, y, batch_size=8, epochs=1, verbose=0)

    return train, (), {}


def clean_convolutions_in_fit():
    """A Keras classifier with batch norm and dropout, trained with fit."""
    model = keras.Sequential([
        layers.Input((12, 12, 1)), layers.Conv2D(4, 3), layers.BatchNormalization(), layers.ReLU(),
        layers.MaxPooling2D(), layers.Flatten(), layers.Dropout(0.3), layers.Dense(3),
    ])  # fmt: skip
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(16, 12, 12, 1)).astype("float32"), rng.integers(0, 3, 16)
    return lambda: model.fit(x, y, batch_size=8, epochs=1, verbose=0), (), {}


def clean_text_classifier():
    """Embedding with a mask, a bidirectional LSTM, a dense head."""
    inputs = keras.Input((9,), dtype="int32")
    h = layers.Embedding(20, 8, mask_zero=True)(inputs)
    h = layers.Bidirectional(layers.LSTM(6))(h)
    model = keras.Model(inputs, layers.Dense(2)(h))
    y = tf.constant([0, 1, 1])
    ids = tf.constant([[3, 4, 5, 0, 0, 0, 0, 0, 0], [7, 2, 2, 9, 1, 0, 0, 0, 0], [1, 2, 3, 4, 5, 6, 7, 8, 9]])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return model, (ids,), {"loss": lambda z: loss(y, z)}


def clean_training_step():
    """A tf.function with its own tape, Adam and clipped gradients."""
    model = keras.Sequential([layers.Input((5,)), layers.Dense(8, activation="gelu"), layers.Dense(1)])
    optimizer = keras.optimizers.Adam(1e-3)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.squeeze(model(x, training=True), 1) - y))
        gradients = tape.gradient(loss, model.trainable_variables)
        gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    return step, (tf.random.normal([8, 5]), tf.random.normal([8])), {}


def clean_denoising_step():
    """A diffusion loss: integer time steps, their sinusoids, the noise as the target."""
    model = keras.Sequential([layers.Input((10,)), layers.Dense(16, activation="silu"), layers.Dense(4)])
    alphas = tf.math.cumprod(1.0 - tf.linspace(1e-4, 0.02, 50))

    def loss(x):
        t = tf.random.uniform([8], 0, 50, dtype=tf.int32)
        noise = tf.random.normal(tf.shape(x))
        a = tf.gather(alphas, t)[:, None]
        angles = tf.cast(t, tf.float32)[:, None] * tf.exp(-tf.range(3.0))[None]
        noisy = tf.sqrt(a) * x + tf.sqrt(1.0 - a) * noise
        guess = model(tf.concat([noisy, tf.sin(angles), tf.cos(angles)], -1))
        return tf.reduce_mean(tf.square(guess - noise))

    return loss, (tf.random.normal([8, 4]),), {"wrt": {v.path: v.value for v in model.trainable_variables}}


def clean_attention_block():
    """Keras multi-head attention with layer norms and a causal mask, next-token loss."""
    inputs = keras.Input((6,), dtype="int32")
    h = layers.Embedding(15, 8)(inputs)
    h = h + layers.MultiHeadAttention(2, 4)(layers.LayerNormalization()(h), h, use_causal_mask=True)
    h = h + layers.Dense(8)(layers.Dense(16, activation="gelu")(layers.LayerNormalization()(h)))
    model = keras.Model(inputs, layers.Dense(15)(h))
    ids = tf.constant(np.random.default_rng(2).integers(0, 15, (4, 6)), tf.int32)

    def loss(logits):
        return tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ids[:, 1:], logits=logits[:, :-1])
        )

    return model, (ids,), {"loss": loss}


PLANTED = [
    accuracy_as_a_loss, clipped_in_numpy, state_kept_in_a_variable, quantised_in_a_functional_model,
    greedy_decoding, stopped_by_a_shared_helper, deviation_of_a_constant, fifteen_sigmoids,
    layer_that_is_never_called, cast_to_whole_numbers_in_fit,
]  # fmt: skip
CLEAN = [
    clean_convolutions_in_fit, clean_text_classifier, clean_training_step, clean_denoising_step,
    clean_attention_block,
]  # fmt: skip
