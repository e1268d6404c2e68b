"""Small clean Keras models: an audit accuses none of their ops."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

import surrogate

RNG = np.random.RandomState(0)


def draw(*shape):
    return tf.constant(RNG.randn(*shape), tf.float32)


def labels(n, classes):
    return tf.constant(RNG.randint(0, classes, n), tf.int64)


def cross_entropy(y, logits):
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))


def mobile_net():
    def block(x, n, stride):
        y = layers.Conv2D(2 * n, 1, use_bias=False)(x)
        y = layers.ReLU(6.0)(layers.BatchNormalization()(y))
        y = layers.DepthwiseConv2D(3, stride, "same", use_bias=False)(y)
        y = layers.ReLU(6.0)(layers.BatchNormalization()(y))
        y = layers.BatchNormalization()(layers.Conv2D(n, 1, use_bias=False)(y))
        return layers.Add()([x, y]) if stride == 1 and x.shape[-1] == n else y

    x = inputs = keras.Input((16, 16, 3))
    for n, stride in ((8, 2), (8, 1), (16, 2), (16, 1)):
        x = block(x, n, stride)
    net = keras.Model(inputs, layers.Dense(5)(layers.Dropout(0.2)(layers.GlobalAveragePooling2D()(x))))
    y = labels(16, 5)
    return lambda x: cross_entropy(y, net(x, training=True)), (draw(16, 16, 16, 3),)


def transformer():
    x = tokens = keras.Input((6,), dtype="int32")
    x = layers.Embedding(20, 16)(x) + layers.Embedding(6, 16)(tf.range(6))
    for _ in range(2):
        h = layers.LayerNormalization()(x)
        x = x + layers.MultiHeadAttention(2, 8, dropout=0.1)(h, h, use_causal_mask=True)
        h = layers.LayerNormalization()(x)
        x = x + layers.Dense(16)(layers.Dense(32, activation="gelu")(h))
    net = keras.Model(tokens, layers.Dense(20)(layers.LayerNormalization()(x)))
    y = labels(24, 20)

    @tf.function
    def loss(x):
        logits = tf.reshape(net(x, training=True), (24, 20))
        wanted = tf.where(y > 15, tf.constant(-100, tf.int64), y)
        kept = tf.cast(wanted != -100, tf.float32)
        each = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.maximum(wanted, 0), logits)
        return tf.reduce_sum(each * kept) / tf.maximum(tf.reduce_sum(kept), 1.0)

    return loss, (tf.constant(RNG.randint(0, 20, (4, 6)), tf.int32),)


def bidirectional_lstm():
    net = keras.Sequential(
        [
            keras.Input((7,)),
            layers.Embedding(10, 8, mask_zero=True),
            layers.Bidirectional(layers.LSTM(6, return_sequences=True)),
            layers.Bidirectional(layers.LSTM(4)),
            layers.Dense(1),
        ]
    )
    y = tf.constant([[0.0], [1.0], [1.0]])
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    return lambda x: loss(y, net(x, training=True)), (tf.constant(RNG.randint(0, 10, (3, 7))),)


def gru_stack():
    net = keras.Sequential(
        [keras.Input((5, 4)), layers.GRU(6, return_sequences=True), layers.GRU(6), layers.Dense(2)]
    )
    return lambda x: tf.reduce_mean(net(x) ** 2), (draw(3, 5, 4),)


def variational_autoencoder():
    encode = keras.Sequential([keras.Input((8,)), layers.Dense(16, "relu"), layers.Dense(6)])
    decode = keras.Sequential([keras.Input((3,)), layers.Dense(16, "relu"), layers.Dense(8)])
    noise = keras.random.SeedGenerator(1)

    def loss(x):
        mean, log_variance = tf.split(encode(x), 2, axis=1)
        z = mean + tf.exp(0.5 * log_variance) * keras.random.normal((16, 3), seed=noise)
        divergence = -0.5 * tf.reduce_mean(1 + log_variance - mean**2 - tf.exp(log_variance))
        return tf.reduce_mean(keras.losses.mean_squared_error(x, decode(z))) + 0.1 * divergence

    return loss, (draw(16, 8),)


def critic_with_a_gradient_penalty():
    critic = keras.Sequential([keras.Input((4,)), layers.Dense(8), layers.LeakyReLU(0.2), layers.Dense(1)])
    fake = draw(8, 4)

    @tf.function
    def loss(real):
        share = tf.random.uniform((8, 1))
        between = share * real + (1 - share) * fake
        with tf.GradientTape() as tape:
            tape.watch(between)
            score = critic(between, training=True)
        slope = tf.sqrt(tf.reduce_sum(tape.gradient(score, between) ** 2, 1) + 1e-12)
        return tf.reduce_mean(critic(fake) - critic(real)) + 10 * tf.reduce_mean((slope - 1) ** 2)

    return loss, (draw(8, 4),)


def u_net():
    x = inputs = keras.Input((8, 8, 1))
    a = layers.Conv2D(4, 3, padding="same", activation="relu")(x)
    b = layers.Conv2D(8, 3, padding="same", activation="relu")(layers.MaxPooling2D()(a))
    c = layers.Conv2DTranspose(4, 3, 2, padding="same")(b)
    d = layers.UpSampling2D(interpolation="bilinear")(b)
    x = layers.Conv2D(1, 3, padding="same")(layers.Concatenate()([a, c, d]))
    net = keras.Model(inputs, x)

    def dice(x):
        p = tf.sigmoid(net(x))
        y = tf.cast(x > 0, tf.float32)
        return 1 - (2 * tf.reduce_sum(p * y) + 1) / (tf.reduce_sum(p) + tf.reduce_sum(y) + 1)

    return dice, (draw(4, 8, 8, 1),)


def two_towers_with_a_moving_target():
    online = keras.Sequential([keras.Input((6,)), layers.Dense(8, "swish"), layers.Dense(4)])
    moving = keras.models.clone_model(online)
    moving.trainable = False

    def loss(x):
        z = tf.math.l2_normalize(online(x), 1)
        target = tf.stop_gradient(tf.math.l2_normalize(moving(x + 0.1), 1))
        right = tf.argmax(z @ tf.transpose(target), 1) == tf.range(8, dtype=tf.int64)
        accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
        tf.debugging.assert_less_equal(accuracy, 1.0)
        logits = z @ tf.transpose(target) / 0.1
        return cross_entropy(tf.range(8), logits)

    return loss, (draw(8, 6),)


def separable_group_norm():
    net = keras.Sequential(
        [
            keras.Input((8, 8, 4)),
            layers.SeparableConv2D(8, 3),
            layers.GroupNormalization(2),
            layers.Activation("mish"),
            layers.Conv2D(8, 3, activation="elu"),
            layers.Flatten(),
            layers.Dense(3, activation="softmax"),
        ]
    )
    y = tf.one_hot(labels(4, 3), 3)
    loss = keras.losses.CategoricalCrossentropy(label_smoothing=0.1)
    return lambda x: loss(y, net(x, training=True)), (draw(4, 8, 8, 4),)


def policy_gradient():
    actor = keras.Sequential([keras.Input((5,)), layers.Dense(8, "tanh"), layers.Dense(3)])
    value = keras.Sequential([keras.Input((5,)), layers.Dense(8, "tanh"), layers.Dense(1)])
    action, gain = labels(12, 3), draw(12)

    def loss(x):
        log_p = tf.nn.log_softmax(actor(x))
        ratio = tf.exp(tf.gather(log_p, action, batch_dims=1) + 1.1)
        clipped = tf.clip_by_value(ratio, 0.8, 1.2)
        v = tf.squeeze(value(x), 1)
        advantage = tf.stop_gradient(gain - v)
        surrogate_loss = -tf.reduce_mean(tf.minimum(ratio * advantage, clipped * advantage))
        return surrogate_loss + 0.5 * tf.reduce_mean((v - gain) ** 2)

    return loss, (draw(12, 5),)


MODELS = [
    mobile_net, transformer, bidirectional_lstm, gru_stack, variational_autoencoder,
    critic_with_a_gradient_penalty, u_net, two_towers_with_a_moving_target, separable_group_norm,
    policy_gradient,
]  # fmt: skip


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.__name__)
def test_clean(model):
    keras.utils.set_random_seed(0)
    loss, args = model()
    report = surrogate.audit("tensorflow", loss, *args)
    assert [str(f) for f in report.findings if f.at_least("warning")] == [], str(report)
    assert report.reached == report.sources > 0
    assert not report.notes
