"""Every way to ask TensorFlow for a derivative: ``mode(f, x)`` gives that of ``f``, elementwise."""

import keras
import tensorflow as tf


def eager(f, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x)


def variable(f, x):
    v = tf.Variable(x)
    with tf.GradientTape() as tape:
        y = f(v)
    return tape.gradient(y, v)


def persistent(f, x):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
    assert tape.gradient(y, tf.constant(0.0)) is None
    return tape.gradient(y, x)


def outer(f, x):
    return eager(tf.function(f), x)


def inner(f, x):
    return tf.function(lambda x: eager(f, x))(x)


def symbolic(f, x):
    return tf.function(lambda x: tf.gradients(f(x), x)[0])(x)


def jit_outer(f, x):
    return eager(tf.function(f, jit_compile=True), x)


def jit_inner(f, x):
    return tf.function(lambda x: eager(f, x), jit_compile=True)(x)


def nested_outer(f, x):
    inside = tf.function(f)
    return outer(lambda x: inside(x), x)


def nested_inner(f, x):
    inside = tf.function(f)
    return inner(lambda x: inside(x), x)


def jit_inside(f, x):
    inside = tf.function(f, jit_compile=True)
    return outer(lambda x: inside(x), x)


def run_eagerly(f, x):
    tf.config.run_functions_eagerly(True)
    try:
        return outer(f, x)
    finally:
        tf.config.run_functions_eagerly(False)


def _loop(f):
    def run(x):
        def body(i, y):
            return i + 1, f(x) + 0.0 * y

        return tf.while_loop(lambda i, y: i < 2, body, (0, tf.zeros_like(x)), maximum_iterations=3)[1]

    return run


def while_eager(f, x):
    return eager(_loop(f), x)


def while_outer(f, x):
    return outer(_loop(f), x)


def while_inner(f, x):
    return inner(_loop(f), x)


def while_jit(f, x):
    return jit_inner(_loop(f), x)


def autograph_loop(f, x):
    @tf.function
    def run(x):
        total = tf.zeros_like(x)
        for _ in tf.range(2):
            total += f(x) / 2
        return total

    return eager(run, x)


def _branch(f):
    return lambda x: tf.cond(tf.reduce_sum(x) < 1e9, lambda: f(x), lambda: x)


def cond_outer(f, x):
    return outer(_branch(f), x)


def cond_inner(f, x):
    return inner(_branch(f), x)


def switch_case(f, x):
    return outer(lambda x: tf.switch_case(tf.size(x) - 3, [lambda: x, lambda: f(x)]), x)


def map_eager(f, x):
    return eager(lambda x: tf.map_fn(f, x), x)


def map_outer(f, x):
    return outer(lambda x: tf.map_fn(f, x), x)


def map_inner(f, x):
    return inner(lambda x: tf.map_fn(f, x), x)


def scan(f, x):
    return outer(lambda x: tf.scan(lambda _, v: f(v), x, initializer=tf.constant(0.0)), x)


def _vectorized(f):
    return lambda x: tf.vectorized_map(f, x, fallback_to_while_loop=False)


def vectorized(f, x):
    return eager(_vectorized(f), x)


def vectorized_outer(f, x):
    return outer(_vectorized(f), x)


def vectorized_inner(f, x):
    return inner(_vectorized(f), x)


def vectorized_tape(f, x):
    return _vectorized(lambda v: eager(f, v))(x)


def vectorized_rows(f, x):
    rows = tf.stack([x, x + 0.0])
    return eager(_vectorized(f), rows)[1]


def _tape_jacobian(f, x, pfor):
    with tf.GradientTape(persistent=not pfor) as tape:
        tape.watch(x)
        y = f(x)
    return tf.linalg.diag_part(tape.jacobian(y, x, experimental_use_pfor=pfor))


def jacobian(f, x):
    return _tape_jacobian(f, x, True)


def jacobian_loop(f, x):
    return _tape_jacobian(f, x, False)


def jacobian_inner(f, x):
    return tf.function(lambda x: _tape_jacobian(f, x, True))(x)


def batch_jacobian(f, x):
    column = x[:, None]
    with tf.GradientTape() as tape:
        tape.watch(column)
        y = f(column)
    return tape.batch_jacobian(y, column)[:, 0, 0]


def forward(f, x):
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
        y = f(x)
    return accumulator.jvp(y)


def forward_inner(f, x):
    return tf.function(lambda x: forward(f, x))(x)


def forward_over(f, x):
    return forward(tf.function(f), x)


def forward_over_vectorized(f, x):
    return forward(_vectorized(lambda v: f(v * 1.0)), x)


def forward_over_reverse(f, x):
    """The derivative of x*x*f'(x)/2 along x where f' is locally constant is x*f'(x)."""
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
        slope = x * x * eager(f, x) / 2
    return accumulator.jvp(slope) / x


def recomputed(f, x):
    return eager(tf.recompute_grad(f), x)


def recomputed_inner(f, x):
    return inner(tf.recompute_grad(f), x)


def py_function(f, x):
    return eager(lambda x: tf.py_function(f, [x], tf.float32), x)


def py_function_outer(f, x):
    def run(x):
        y = tf.py_function(f, [x], tf.float32)
        y.set_shape(x.shape)
        return y

    return outer(run, x)


def dataset_map(f, x):
    data = tf.data.Dataset.from_tensors(x).map(lambda x: eager(f, x))
    return next(iter(data))


def graph_v1(f, x):
    with tf.Graph().as_default():
        held = tf.constant(x.numpy())
        slope = tf.gradients(f(held), held)[0]
        with tf.compat.v1.Session() as session:
            return session.run(slope)


if hasattr(keras, "remat"):  # Keras 3.6 has none

    def remat(f, x):
        return eager(keras.remat(f), x)


ALL = {name: value for name, value in list(globals().items()) if callable(value) and not name.startswith("_")}
