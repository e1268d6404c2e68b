"""Every way of losing a gradient in TensorFlow: eager, tf.function, loops, branches, fit: the exact line."""

import pytest
import tensorflow as tf
from losing import names_the_line, program, table

IMPORTS = """import keras
import numpy as np
import tensorflow as tf

STATE = tf.Variable(tf.zeros([2, 3]), trainable=False)"""

WAYS = {
    "sign": "g = tf.sign(h)  #!",
    "round": "g = tf.round(h)  #!",
    "floor": "g = tf.floor(h)  #!",
    "ceil": "g = tf.math.ceil(h)  #!",
    "floor_divide": "g = h // 0.5  #!",
    "comparison": "g = tf.cast(h > 0.1, tf.float32)  #!",
    "cast": "g = tf.cast(tf.cast(h, tf.int32), tf.float32)  #!",
    "argmax": "g = tf.cast(tf.argmax(h, -1), tf.float32)[:, None]  #!",
    "argsort": "g = tf.cast(tf.argsort(h), tf.float32)  #!",
    "stop_gradient": "g = tf.stop_gradient(h)  #!",
    "numpy_function": "g = tf.reshape(tf.numpy_function(np.tanh, [h], tf.float32), [2, 3])  #!",
    "assign": "STATE.assign(h)  #!\ng = STATE + 0.0",
    "numpy": "g = tf.constant(np.tanh(h.numpy()))  #!",
    "item": "g = float(tf.reduce_sum(h))  #!",
}

SURROUNDINGS = {
    "eager": "def program(w, b):\n    h = w * 2.0\n    @@\n    return tf.reduce_sum(g * b)",
    "tf.function": """@tf.function
def program(w, b):
    h = w * 2.0
    @@
    return tf.reduce_sum(g * b)""",
    "loop": """@tf.function
def program(w, b):
    total = 0.0
    for n in tf.range(2):
        h = w * 2.0
        @@
        total += tf.reduce_sum(g * b)
    return total""",
    "while": """@tf.function
def program(w, b):
    total, n = 0.0, tf.constant(0)
    while n < 2:
        h = w * 2.0
        @@
        total += tf.reduce_sum(g * b)
        n += 1
    return total""",
    "branch": """@tf.function
def program(w, b):
    h = w * 2.0
    if tf.reduce_sum(b) > -1e9:
        @@
        total = tf.reduce_sum(g * b)
    else:
        total = tf.reduce_sum(h * b)
    return total""",
    "fit": """class Layer(keras.layers.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(2, 3), name="w", initializer="ones")
        self.b = self.add_weight(shape=(), name="b", initializer="ones")

    def call(self, x):
        h = x * self.w
        @@
        return tf.zeros([2, 3]) + g * self.b


MODEL = keras.Sequential([keras.Input((3,), batch_size=2), Layer(name="losing")])
MODEL.compile("sgd", "mse")


def program(w, b):
    MODEL.fit(np.full((2, 3), 0.3), np.ones((2, 3)), batch_size=2, verbose=0)""",
}

#: A graph has no values to hand out; and in ``fit`` nobody runs the program again to see what came back.
IMPOSSIBLE = [(s, way) for s in SURROUNDINGS if s != "eager" for way in ("numpy", "item")]


@pytest.mark.filterwarnings("ignore:Gradients do not exist")  # of Keras, in fit, and true
@pytest.mark.parametrize(("surrounding", "way"), table(WAYS, SURROUNDINGS, IMPOSSIBLE))
def test_the_line_that_loses_a_gradient_is_named(surrounding, way, tmp_path):
    module, at = program(tmp_path, IMPORTS, SURROUNDINGS[surrounding], WAYS[way])
    w, b = tf.constant([[0.3, -0.7, 1.2], [0.4, 0.9, -1.6]]), tf.constant(1.5)
    lost = "arg0"
    if surrounding == "fit":
        lost = next(v.path for v in module.MODEL.trainable_variables if v.name == "w")
    names_the_line("tensorflow", module, at, lost, w, b)
