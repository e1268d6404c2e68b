"""Operands that convert, in every spelling of a signature: native's value bit for bit, or native's error."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tensorflow.experimental.numpy as tnp
import tensorflow_modes
from hypothesis import HealthCheck, given, settings, strategies as st

import surrogate

X = np.array([-2.0, -0.3, 0.4, 3.0], np.float32)

FUNCTIONS = {  # function, its arguments in order, the op that it is
    "tf.clip_by_value": (tf.clip_by_value, ("t", "clip_value_min", "clip_value_max"), "clip"),
    "raw_ops.ClipByValue": (
        lambda *args, **named: tf.raw_ops.ClipByValue(
            **dict(zip(("t", "clip_value_min", "clip_value_max"), args, strict=False)), **named
        ),
        ("t", "clip_value_min", "clip_value_max"),
        "clip",
    ),
    "tnp.clip": (tnp.clip, ("a", "a_min", "a_max"), "clip"),
    "keras.ops.clip": (keras.ops.clip, ("x", "x_min", "x_max"), "clip"),
    "tnp.heaviside": (tnp.heaviside, ("x1", "x2"), "heaviside"),
    "keras.ops.heaviside": (getattr(keras.ops, "heaviside", tnp.heaviside), ("x1", "x2"), "heaviside"),
    "tf.math.floormod": (tf.math.floormod, ("x", "y"), "mod"),
    "keras.ops.mod": (keras.ops.mod, ("x1", "x2"), "mod"),
    "tnp.mod": (tnp.mod, ("x1", "x2"), "mod"),
    "tf.truncatemod": (tf.truncatemod, ("x", "y"), "fmod"),
    "tf.math.floordiv": (tf.math.floordiv, ("x", "y"), "floor_divide"),
    "keras.ops.floor_divide": (keras.ops.floor_divide, ("x1", "x2"), "floor_divide"),
    "tf.round": (tf.round, ("x",), "round"),
    "tnp.around": (tnp.around, ("a", "decimals"), "round"),
    "keras.ops.round": (keras.ops.round, ("x", "decimals"), "round"),
    "tnp.fix": (tnp.fix, ("x",), "trunc"),
    "tf.sign": (tf.sign, ("x",), "sign"),
    "tf.nn.relu": (tf.nn.relu, ("features",), "relu"),
}
KINDS = {
    "tensor": tf.constant,
    "variable": tf.Variable,
    "keras variable": keras.Variable,
    "numpy": np.asarray,
    "numpy scalar": lambda x: np.float32(np.ravel(x)[0]),
    "float": lambda x: float(np.ravel(x)[0]),
    "int": lambda x: int(np.ravel(x)[0]),
    "list": lambda x: np.asarray(x).tolist(),
    "none": lambda x: None,
}
RULES = {"clip": "leaky", "heaviside": "arctan", "mod": "exact", "fmod": "exact", "round": "sine"}
RULES |= {"floor_divide": "identity", "trunc": "sine", "sign": "hardtanh", "relu": "leaky"}
VALUES = {"decimals": [1, np.int64(1), 0, -1]}


@st.composite
def calls(draw):
    name = draw(st.sampled_from(sorted(FUNCTIONS)))
    function, parameters, op = FUNCTIONS[name]
    first = draw(st.sampled_from(["tensor", "variable", "keras variable", "numpy"]))
    operands = [KINDS[first](X)]
    for parameter in parameters[1:]:
        if parameter in VALUES:
            operands.append(draw(st.sampled_from(VALUES[parameter])))
        else:
            kind = draw(st.sampled_from(sorted(KINDS)))
            operands.append(KINDS[kind](np.array([1.0, 0.5, 2.0, -1.5], np.float32)))
    by_name = draw(st.integers(0, len(parameters)))
    positional = len(parameters) - by_name
    named = draw(st.permutations(list(zip(parameters, operands, strict=True))[positional:]))
    return name, function, op, operands[:positional], dict(named)


def outcome(call):
    try:
        return np.asarray(call()).tobytes()
    except Exception as error:
        return type(error)


@pytest.mark.filterwarnings("ignore::surrogate.NothingCapturedWarning")
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(calls(), st.booleans())
def test_the_value_is_native_or_the_error_is(call, graph):
    _, function, op, args, named = call

    def run():
        if not graph:
            return function(*args, **named)
        return tf.function(lambda: function(*args, **named), autograph=False)()

    native = outcome(run)
    with surrogate.override("tensorflow", {op: RULES[op]}), tf.GradientTape() as tape:
        tape.watch([x for x in (*args, *named.values()) if isinstance(x, tf.Tensor)])
        assert outcome(run) == native


SWAPPED = {
    "tnp.heaviside": lambda x: tnp.heaviside(x2=tf.constant(0.5), x1=x),
    "tf.clip_by_value": lambda x: tf.clip_by_value(clip_value_max=1.0, clip_value_min=-1.0, t=x),
    "tnp.clip": lambda x: tnp.clip(a_max=1.0, a=x, a_min=None),
    "keras.ops.round": lambda x: keras.ops.round(decimals=1, x=x),
}
SLOPES = {
    "tnp.heaviside": ("heaviside", "arctan", 1 / (1 + np.square(np.pi * X))),
    "tf.clip_by_value": ("clip", "leaky(leak=0.5)", [0.5, 1.0, 1.0, 0.5]),
    "tnp.clip": ("clip", "leaky(leak=0.5)", [1.0, 1.0, 1.0, 0.5]),
    "keras.ops.round": ("round", "clipped(lo=-3, hi=3)", [0.0, 1.0, 0.0, 0.0]),
}


@pytest.mark.parametrize("mode", ["eager", "variable", "outer", "inner", "jit_inner", "forward"])
@pytest.mark.parametrize("spelling", SWAPPED)
def test_arguments_are_told_by_name(spelling, mode):
    op, spec, slopes = SLOPES[spelling]
    with surrogate.override("tensorflow", {op: spec}):
        found = tensorflow_modes.ALL[mode](SWAPPED[spelling], tf.constant(X))
    np.testing.assert_allclose(found, slopes, rtol=1e-6)
