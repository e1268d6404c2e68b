"""Twenty planted programs and ten clean ones, written after the recorder and the rules were done.

A line at fault ends in ``#! kind:op|op``. Each program is ``(loss, args)``.
"""

import keras
import numpy as np
import tensorflow as tf

R = np.random.RandomState(3)


def n(*shape):
    return tf.constant(R.randn(*shape), tf.float32)


def v(name, *shape):
    return tf.Variable(0.7 * R.randn(*shape), dtype=tf.float32, name=name)


def p01():
    """A learned threshold by a comparison."""
    t, g = tf.Variable(0.1, name="t"), tf.Variable(1.0, name="g")

    @tf.function
    def loss(x):
        mask = tf.where(x > t, 1.0, 0.0)  #! cut:gt
        return tf.reduce_mean((x * mask * g - 1) ** 2)

    return loss, (n(20),)


def p02():
    """Rounded pixels before a perceptual loss."""
    k = v("k", 3, 3, 1, 1)

    def loss(img):
        out = tf.nn.conv2d(img, k, 1, "SAME")
        out = tf.cast(tf.clip_by_value(out, 0.0, 255.0), tf.uint8)  #! cut:cast
        return tf.reduce_mean((tf.cast(out, tf.float32) - 3.0) ** 2)

    return loss, (tf.abs(n(1, 6, 6, 1)) * 50,)


def p03():
    """Eight-bit quantisation, forgotten straight-through, in a Keras layer."""

    class Quantised(keras.layers.Dense):
        def call(self, x):
            kernel = keras.ops.round(self.kernel * 127.0)  #! zero:round
            return keras.ops.matmul(x, kernel / 127.0) + self.bias

    net = keras.Sequential([keras.Input((4,)), Quantised(3)])
    return lambda x: tf.reduce_mean(net(x) ** 2), (n(5, 4),)


def p04():
    """Spiking neurons in an AutoGraph loop."""
    w = v("w", 4, 3)

    @tf.function
    def loss(xs):
        u, count = tf.zeros((3,)), tf.zeros((3,))
        for x in xs:
            u = 0.9 * u + tf.linalg.matvec(w, x, transpose_a=True)
            s = tf.cast(u > 1.0, tf.float32)  #! cut:gt
            u = u - tf.stop_gradient(s)
            count += s
        return tf.reduce_mean((count - 2.0) ** 2)

    return loss, (tf.abs(n(12, 4)),)


def p05():
    """The target is stopped, and so is the prediction."""
    s, t = v("s", 4, 2), v("t", 4, 2)

    def loss(x):
        student = tf.stop_gradient(x @ s)  #! cut:stop_gradient
        return tf.reduce_mean((student - x @ t) ** 2)

    return loss, (n(6, 4),)


def p06():
    """A percentage for the log comes back as a weight."""
    w, b = v("w", 4), v("b", 4)

    def loss(x):
        share = float(tf.reduce_mean(tf.sigmoid(tf.linalg.matvec(x, w))))  #! cut:item
        return share * tf.reduce_sum(b**2)

    return loss, (n(6, 4),)


def p07():
    """SciPy-like code on NumPy arrays in the middle."""
    w = v("w", 5)

    def loss(x):
        h = (x * w).numpy()  #! cut:numpy
        return tf.reduce_sum(tf.constant(np.sort(h)) * tf.constant([1.0, 2.0, 3.0, 4.0, 5.0]))

    return loss, (n(5),)


def p08():
    """A simulator by numpy_function inside a tf.function."""
    w = v("w", 5)

    @tf.function
    def loss(x):
        y = tf.numpy_function(np.sin, [x * w], tf.float32)  #! cut:numpy_function
        return tf.reduce_sum(tf.ensure_shape(y, (5,)) ** 2)

    return loss, (n(5),)


def p09():
    """A state variable between two steps: the second loses the first."""
    w, b = v("w", 3), v("b", 3)
    state = tf.Variable(tf.zeros(3), trainable=False, name="state")

    def loss(x):
        state.assign(tf.tanh(x * w))  #! cut:assignvariableop
        return tf.reduce_sum((state * b) ** 2)

    return loss, (n(3),)


def p10():
    """Accuracy as an auxiliary term."""
    w = v("w", 4, 3)

    @tf.function
    def loss(x, y):
        logits = x @ w
        right = tf.cast(tf.argmax(logits, -1) == y, tf.float32)  #! cut:argmax
        ce = tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits)
        return tf.reduce_mean(ce) + 0.5 * (1 - tf.reduce_mean(right))

    return loss, (n(8, 4), tf.constant(R.randint(0, 3, 8)))


def p11():
    """arcsin at the edge."""
    w = v("w", 6)

    def loss():
        return tf.reduce_sum(tf.asin(w / tf.reduce_max(tf.abs(w))))  #! nonfinite:asin

    return loss, ()


def p12():
    """Log of probabilities that underflow."""
    w = tf.Variable([-200.0, 1.0, 2.0], name="w")

    def loss():
        q = tf.sigmoid(w)
        return -tf.reduce_sum(tf.math.log(q))  #! nonfinite:log

    return loss, ()


def p13():
    """Twenty sigmoid layers of Keras."""
    stack = [keras.layers.Dense(6, activation="sigmoid") for _ in range(20)]

    def loss(x):
        for layer in stack:
            x = layer(x)  #! vanishing:matmul
        return tf.reduce_sum(x)

    return loss, (n(3, 6),)


def p14():
    """Dead from the first layer on."""
    first = keras.layers.Dense(8, bias_initializer=keras.initializers.Constant(-500.0))
    last = keras.layers.Dense(1)

    def loss(x):
        h = keras.ops.relu(first(x))  #! dead:relu
        return tf.reduce_mean((last(h) - 1.0) ** 2)

    return loss, (n(16, 4),)


def p15():
    """Pixels from 0 to 255 into a tanh."""
    w = tf.Variable(tf.abs(n(16, 4)) + 0.1, name="w")

    def loss(img):
        return tf.reduce_mean(tf.tanh(img @ w + 7.0) ** 2)  #! saturated:tanh

    return loss, (tf.constant(R.randint(0, 256, (8, 16)), tf.float32),)


def p16():
    """Hours of the day by floor division."""
    speed, h = tf.Variable(1.1, name="speed"), tf.Variable(3.0, name="h")

    def loss(minutes):
        hour = (minutes * speed) // 60.0  #! zero:floor_divide
        return tf.reduce_mean((hour - h) ** 2)

    return loss, (tf.range(0.0, 600.0, 60.0),)


def p17():
    """A ranking by argsort of the scores."""
    w = v("w", 4)

    def loss(x, gain):
        order = tf.argsort(tf.linalg.matvec(x, w), direction="DESCENDING")  #! cut:topk
        return -tf.reduce_sum(tf.gather(gain, order) / tf.range(2.0, 10.0))

    return loss, (n(8, 4), tf.abs(n(8)))


def p18():
    """One-hot of a cast, in a while_loop."""
    w = v("w", 4)

    @tf.function
    def loss(x):
        def body(i, acc):
            k = tf.cast(tf.abs(x[i] * w[i]) * 2, tf.int32)  #! cut:cast
            return i + 1, acc + tf.one_hot(k, 4)

        _, acc = tf.while_loop(lambda i, acc: i < 4, body, (0, tf.zeros(4)))
        return tf.reduce_sum(acc * tf.constant([1.0, 2.0, 3.0, 4.0]))

    return loss, (n(4),)


def p19():
    """Hand-written softmax and its log."""
    w = v("w", 4, 3)

    def loss(x):
        e = tf.exp(x @ w)  #! unstable:exp
        p = e / tf.reduce_sum(e, -1, keepdims=True)
        return -tf.reduce_mean(p[:, 0])

    return loss, (n(5, 4),)


def p20():
    """A learned step size in a sign gradient step, through a tape in the loss."""
    w, rate = v("w", 3), tf.Variable(0.1, name="rate")

    def loss(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            inner = tf.reduce_sum(tf.sin(x * w))
        step = tf.sign(tape.gradient(inner, x))  #! zero:sign
        return tf.reduce_sum((x - rate * step) ** 2)

    return loss, (n(3),)


PLANTED = [p01, p02, p03, p04, p05, p06, p07, p08, p09, p10, p11, p12, p13, p14, p15, p16, p17, p18, p19, p20]


def c01():
    """Gumbel-softmax, straight-through."""
    w = v("w", 4, 3)

    def loss(x):
        noise = -tf.math.log(-tf.math.log(tf.random.uniform((6, 3), 1e-6, 1 - 1e-6)))
        soft = tf.nn.softmax((x @ w + noise) / 0.7)
        hard = tf.one_hot(tf.argmax(soft, -1), 3)
        return tf.reduce_mean((hard + soft - tf.stop_gradient(soft)) * tf.range(3.0))

    return loss, (n(6, 4),)


def c02():
    """Masked Huber loss over padding, in a tf.function with a Python branch."""
    w = v("w", 4)

    @tf.function
    def loss(x, length, weighted=True):
        error = tf.linalg.matvec(x, w) - 1.0
        each = tf.where(tf.abs(error) < 1.0, 0.5 * error**2, tf.abs(error) - 0.5)
        mask = tf.sequence_mask(length, 7, tf.float32)
        if weighted:
            each *= mask
        return tf.reduce_sum(each) / tf.maximum(tf.reduce_sum(mask), 1.0)

    return loss, (n(3, 7, 4), tf.constant([3, 7, 5]))


def c03():
    """Focal loss with keras.ops."""
    w = v("w", 4)

    def loss(x, y):
        p = keras.ops.sigmoid(tf.linalg.matvec(x, w))
        p = keras.ops.where(y > 0.5, p, 1 - p)
        return -keras.ops.mean((1 - p) ** 2 * keras.ops.log(keras.ops.clip(p, 1e-6, 1.0)))

    return loss, (n(8, 4), tf.cast(n(8) > 0, tf.float32))


def c04():
    """An LSTM cell unrolled by tf.scan."""
    w = v("w", 7, 16)

    @tf.function
    def loss(xs):
        def step(carry, x):
            h, c = carry
            i, f, g, o = tf.split(tf.concat([x, h], -1) @ w, 4, -1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
            return tf.sigmoid(o) * tf.tanh(c), c

        h, _ = tf.scan(step, xs, (tf.zeros((2, 4)), tf.zeros((2, 4))))
        return tf.reduce_mean(h[-1] ** 2)

    return loss, (n(6, 2, 3),)


def c05():
    """Hard negatives by top_k values."""
    w = v("w", 4)

    def loss(x):
        score = tf.nn.softplus(tf.linalg.matvec(x, w))
        return tf.reduce_mean(tf.math.top_k(score, 3).values) + tf.reduce_mean(tf.sort(score)[:2])

    return loss, (n(8, 4),)


def c06():
    """A binary layer with a custom gradient."""
    w = v("w", 4, 3)

    @tf.custom_gradient
    def binary(x):
        return tf.sign(x), lambda g: g * tf.cast(tf.abs(x) < 1, g.dtype)

    return lambda x: tf.reduce_mean((x @ binary(w) - 1) ** 2), (n(5, 4),)


def c07():
    """Augmentation by preprocessing layers before a small net."""
    net = keras.Sequential(
        [
            keras.Input((8, 8, 3)),
            keras.layers.RandomFlip(seed=1),
            keras.layers.RandomContrast(0.2, seed=2),
            keras.layers.Rescaling(1 / 255.0),
            keras.layers.Conv2D(4, 3, activation="relu"),
            keras.layers.GlobalMaxPooling2D(),
            keras.layers.Dense(2),
        ]
    )
    return lambda x: tf.reduce_mean(net(x, training=True) ** 2), (tf.abs(n(4, 8, 8, 3)) * 100,)


def c08():
    """A bilinear warp with learned offsets."""
    shift = tf.Variable([0.3, 0.2], name="shift")

    def loss(img):
        y = tf.range(6.0) + shift[0]
        low = tf.clip_by_value(tf.floor(y), 0.0, 4.0)
        i = tf.cast(low, tf.int32)
        rows = tf.gather(img, i) + (y - low)[:, None] * (tf.gather(img, i + 1) - tf.gather(img, i))
        return tf.reduce_mean((rows + shift[1]) ** 2)

    return loss, (n(6, 6),)


def c09():
    """Quantile regression and an exponential moving average in a variable."""
    w = v("w", 4)
    average = tf.Variable(0.0, trainable=False, name="average")

    def loss(x):
        e = 1.0 - tf.linalg.matvec(x, w)
        average.assign(0.9 * average + 0.1 * tf.reduce_mean(tf.abs(e)))
        return tf.reduce_mean(tf.maximum(0.9 * e, -0.1 * e)) / (1.0 + tf.stop_gradient(average))

    return loss, (n(8, 4),)


def c10():
    """Graph attention with segment sums."""
    w, a = v("w", 4, 5), v("a", 10)

    def loss(x, source, target):
        h = x @ w
        pair = tf.concat([tf.gather(h, source), tf.gather(h, target)], -1)
        score = tf.nn.leaky_relu(tf.linalg.matvec(pair, a))
        score = tf.exp(score - tf.gather(tf.math.segment_max(score, target), target))
        share = score / tf.gather(tf.math.segment_sum(score, target), target)
        return tf.reduce_mean(tf.math.segment_sum(share[:, None] * tf.gather(h, source), target) ** 2)

    return loss, (n(3, 4), tf.constant([0, 1, 2, 1]), tf.constant([0, 0, 1, 2]))


CLEAN = [c01, c02, c03, c04, c05, c06, c07, c08, c09, c10]
