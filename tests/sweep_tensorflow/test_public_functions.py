"""Every public function, with every op under an absurd constant: only what is the op itself may change.

Slow, in an environment of its own: ``tox -e tensorflow-sweep``.
"""

import inspect
import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf
import tensorflow.experimental.numpy as tnp

import surrogate

MODULES = {
    "tf": tf,
    "tf.image": tf.image,
    "tf.linalg": tf.linalg,
    "tf.math": tf.math,
    "tf.nn": tf.nn,
    "tnp": tnp,
    "keras.activations": keras.activations,
    "keras.losses": keras.losses,
    "keras.ops": keras.ops,
}
#: Functions that are an op, by their last names, and the ops whose rules they obey.
IS = {
    "abs": {"abs"},
    "absolute": {"abs"},
    "ceil": {"ceil"},
    "divmod": {"mod", "floor_divide"},
    "fabs": {"abs"},
    "fix": {"trunc"},
    "floor": {"floor"},
    "floor_divide": {"floor_divide"},
    "floordiv": {"floor_divide"},
    "floormod": {"mod"},
    "fmod": {"fmod"},
    "hard_tanh": {"clip"},
    "heaviside": {"heaviside"},
    "maximum": {"maximum"},
    "minimum": {"minimum"},
    "mod": {"mod"},
    "relu": {"relu"},
    "relu6": {"relu6"},
    "remainder": {"mod"},
    "rint": {"round"},
    "round": {"round"},
    "around": {"round"},
    "sign": {"sign"},
    "trunc": {"trunc"},
    "truncatemod": {"fmod"},
    "unravel_index": {"mod", "floor_divide"},  # arithmetic of what is no index here
}
#: Functions that run other functions, or have effects.
LEFT_OUT = {
    "custom_gradient",
    "experimental_enable_numpy_behavior",
    "function",
    "numpy_function",
    "print",
    "py_function",
    "recompute_grad",
}

X = np.array(
    [[0.3, -0.6, 0.8, 1.7], [0.45, 0.2, -1.3, 0.9], [0.1, 0.7, 0.25, -0.4], [1.2, -0.35, 0.55, 0.65]]
)
Y = X.T * 0.7 + 0.1
FAR = 1000.0


def absurd(op):
    """A gradient that nobody would mistake."""
    if op in ("argmax", "argmin"):
        return "identity"
    constants = {1: lambda xp, x: FAR, 2: lambda xp, x, y: (FAR, FAR), 3: lambda xp, x, y, z: (FAR, FAR, FAR)}
    return constants[1 if op == "searchsorted" else surrogate.op(op).arity]


def gradients(function, count):
    """The gradient by each of the operands; an empty list where nothing is a float."""
    operands = [tf.constant(X), tf.constant(Y)][:count]
    with tf.GradientTape() as tape:
        tape.watch(operands)
        results = tf.nest.flatten(function(*operands))
        floats = [y for y in results if tf.is_tensor(y) and y.dtype.is_floating]
    if not floats:
        return []
    found = tape.gradient(floats, operands, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    return [np.asarray(tf.convert_to_tensor(g)) for g in found]


def functions(module):
    for name in sorted(dir(module)):
        function = getattr(module, name)
        if name[0] != "_" and callable(function) and not inspect.isclass(function) and name not in LEFT_OUT:
            yield name, function


def calls(module):
    """Every function that takes one or two matrices, how many, and its native gradients."""
    for name, function in functions(module):
        for count in (1, 2):
            try:
                yield name, function, count, gradients(function, count)
            except Exception:  # it takes something else
                continue


@pytest.mark.parametrize("module", MODULES)
def test_only_the_ops_themselves_change(module, backend):
    rules = {op: absurd(op) for op in backend.ops}
    leaks, changed = {}, set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, function, count, native in calls(MODULES[module]):
            with surrogate.override(backend, rules) as o:
                found = gradients(function, count)
            if all(np.allclose(a, b, equal_nan=True) for a, b in zip(found, native, strict=True)):
                continue
            changed.add(name)
            if not set(+o.hits) <= IS.get(name, set()):
                leaks[name] = dict(+o.hits)
    assert leaks == {}
    assert changed <= IS.keys()
    if module in ("tf.math", "keras.ops"):
        assert {"abs", "ceil", "floor", "mod", "sign"} <= changed
