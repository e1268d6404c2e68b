"""Rules by place in TensorFlow."""

from typing import ClassVar

import tensorflow as tf
from places import CompiledCases, code  # noqa: F401 -- a fixture


class TestPlaces(CompiledCases):
    backend = "tensorflow"
    imports = "import tensorflow as np\nfrom tensorflow import stop_gradient as stop\n"
    modes: ClassVar = {
        "eager": lambda f: f,
        "autograph": tf.function,
        "function": lambda f: tf.function(f, autograph=False),
    }
    shared = staticmethod(tf.function(tf.round))

    @staticmethod
    def slope(f):
        x = tf.constant([0.2, 0.7, 1.4, 2.6])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        found = tape.gradient(y, x)
        return [0.0] * 4 if found is None else found.numpy().tolist()
