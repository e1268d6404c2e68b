"""All the ways to write an op are the same op."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tensorflow.experimental.numpy as tnp
import tensorflow_modes
from tensorflow import clip_by_value as taken_before, sign as sign_taken_before

import surrogate
from surrogate import reference

raw = tf.raw_ops
X = np.array([-2.5, -1.0, -0.25, 0.75, 3.5], np.float32)

UNARY = {
    "sign": {
        "tf.sign": tf.sign,
        "tf.math.sign": tf.math.sign,
        "raw_ops": lambda x: raw.Sign(x=x),
        "tnp": tnp.sign,
        "keras.ops": keras.ops.sign,
        "from import": sign_taken_before,
    },
    "round": {
        "tf.round": tf.round,
        "tf.math.round": tf.math.round,
        "tf.math.rint": tf.math.rint,
        "raw_ops.Round": lambda x: raw.Round(x=x),
        "raw_ops.Rint": lambda x: raw.Rint(x=x),
        "keras.ops": keras.ops.round,
        "keras.ops with decimals=0": lambda x: keras.ops.round(x, decimals=0),
    },
    "floor": {
        "tf.floor": tf.floor,
        "tf.math.floor": tf.math.floor,
        "raw_ops": lambda x: raw.Floor(x=x),
        "tnp": tnp.floor,
        "keras.ops": keras.ops.floor,
    },
    "ceil": {
        "tf.math.ceil": tf.math.ceil,
        "raw_ops": lambda x: raw.Ceil(x=x),
        "tnp": tnp.ceil,
        "keras.ops": keras.ops.ceil,
    },
    "trunc": {"tnp.fix": tnp.fix, "keras.ops": getattr(keras.ops, "trunc", tnp.fix)},
    "relu": {
        "tf.nn": tf.nn.relu,
        "raw_ops": lambda x: raw.Relu(features=x),
        "keras.ops": keras.ops.relu,
        "layer": keras.layers.ReLU(),
        "activation": keras.activations.relu,
        "Activation": keras.layers.Activation("relu"),
    },
    "relu6": {
        "tf.nn": tf.nn.relu6,
        "raw_ops": lambda x: raw.Relu6(features=x),
        "keras.ops": keras.ops.relu6,
        "layer": keras.layers.ReLU(max_value=6),
        "activation": keras.activations.relu6,
    },
    "abs": {
        "tf.abs": tf.abs,
        "tf.math.abs": tf.math.abs,
        "builtin": abs,
        "raw_ops": lambda x: raw.Abs(x=x),
        "tnp": tnp.abs,
        "keras.ops": keras.ops.absolute,
    },
}
SPEC = {
    "sign": "tanh",
    "round": "sine",
    "floor": "sine",
    "ceil": "sine",
    "trunc": "sine",
    "relu": "leaky",
    "relu6": "identity",
    "abs": "sign0",
}

BINARY = {
    "mod": {
        "%": lambda x, y: x % y,
        "tf.math.floormod": tf.math.floormod,
        "tf.math.mod": tf.math.mod,
        "tf.compat.v1.mod": tf.compat.v1.mod,
        "raw_ops": lambda x, y: raw.FloorMod(x=x, y=y),
        "tnp.mod": tnp.mod,
        "tnp.remainder": tnp.remainder,
        "keras.ops": keras.ops.mod,
        "divmod": lambda x, y: tnp.divmod(x, y)[1],
    },
    "fmod": {
        "tf.truncatemod": tf.truncatemod,
        "raw_ops.TruncateMod": lambda x, y: raw.TruncateMod(x=x, y=y),
        "raw_ops.Mod": lambda x, y: raw.Mod(x=x, y=y),
        "keras.ops": getattr(keras.ops, "fmod", tf.truncatemod),
    },
    "floor_divide": {
        "//": lambda x, y: x // y,
        "tf.math.floordiv": tf.math.floordiv,
        "tf.compat.v1.floor_div": tf.compat.v1.floor_div,
        "raw_ops": lambda x, y: raw.FloorDiv(x=x, y=y),
        "tnp": tnp.floor_divide,
        "keras.ops": keras.ops.floor_divide,
    },
    "heaviside": {"tnp": tnp.heaviside, "keras.ops": getattr(keras.ops, "heaviside", tnp.heaviside)},
}
DEFAULT = {op: surrogate.op(op).default for op in BINARY}
MODES = ("eager", "variable", "outer", "inner", "symbolic", "jit_inner", "forward")


def expected(op, spec, *inputs):
    return reference.vjp(op, spec, *inputs)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("op", "spelling"), [(op, name) for op in UNARY for name in UNARY[op]])
def test_unary(op, spelling, mode):
    with surrogate.override("tensorflow", {op: SPEC[op]}) as o:
        found = tensorflow_modes.ALL[mode](UNARY[op][spelling], tf.constant(X))
    np.testing.assert_allclose(found, expected(op, SPEC[op], X)[0], rtol=1e-6, atol=1e-6)
    assert set(+o.hits) == {op}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("op", "spelling"), [(op, name) for op in BINARY for name in BINARY[op]])
def test_binary(op, spelling, mode):
    f = BINARY[op][spelling]
    y = np.array([2.0, -0.75, 1.5, 0.25, -2.0], np.float32)
    with surrogate.override("tensorflow", {op: DEFAULT[op]}):
        by_x = tensorflow_modes.ALL[mode](lambda x: f(x, tf.constant(y)), tf.constant(X))
        by_y = tensorflow_modes.ALL[mode](lambda y: f(tf.constant(X), y), tf.constant(y))
    want = expected(op, DEFAULT[op], X, y)
    np.testing.assert_allclose(by_x, want[0], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(by_y, want[1], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("op", "f", "slope"),
    [
        ("mod", lambda x: x % 2.0, 1.0),
        ("mod", lambda x: tf.math.floormod(x, 2.0), 1.0),
        ("mod", lambda x: 2.0 % x, lambda x: -np.floor(2.0 / x)),
        ("floor_divide", lambda x: x // 2.0, 0.5),
        ("floor_divide", lambda x: 2.0 // x, lambda x: -2.0 / (x * x)),
    ],
    ids=["x % 2", "floormod(x, 2)", "2 % x", "x // 2", "2 // x"],
)
def test_numbers_and_reflected_operators(op, f, slope, mode):
    with surrogate.override("tensorflow", {op: DEFAULT[op]}):
        found = tensorflow_modes.ALL[mode](f, tf.constant(X))
    np.testing.assert_allclose(found, slope(X) if callable(slope) else np.full(5, slope), rtol=1e-6)


CLIPS = {
    "tf.clip_by_value": lambda x: tf.clip_by_value(x, -1.0, 2.0),
    "from import": lambda x: taken_before(x, -1.0, 2.0),
    "keywords": lambda x: tf.clip_by_value(x, clip_value_max=2.0, clip_value_min=-1.0),
    "raw_ops": lambda x: raw.ClipByValue(t=x, clip_value_min=-1.0, clip_value_max=2.0),
    "keras.ops": lambda x: keras.ops.clip(x, -1.0, 2.0),
    "tnp": lambda x: tnp.clip(x, -1.0, 2.0),
    "tensors": lambda x: tf.clip_by_value(x, tf.constant(-1.0), tf.fill([5], 2.0)),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("spelling", CLIPS)
def test_clip(spelling, mode):
    with surrogate.override("tensorflow", {"clip": "leaky(leak=0.5)"}) as o:
        found = tensorflow_modes.ALL[mode](CLIPS[spelling], tf.constant(X))
    np.testing.assert_array_equal(found, [0.5, 1.0, 1.0, 1.0, 0.5])
    assert o.hits["clip"] >= 1


@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (lambda x: tnp.clip(x, None, 2.0), [1.0, 1.0, 1.0, 1.0, 0.5]),
        (lambda x: tnp.clip(x, -1.0, None), [0.5, 1.0, 1.0, 1.0, 1.0]),
        (
            getattr(keras.activations, "hard_tanh", lambda x: tf.clip_by_value(x, -1.0, 1.0)),
            [0.5, 1.0, 1.0, 1.0, 0.5],
        ),
        (lambda x: keras.layers.ReLU(max_value=2.0)(x), [0.0, 0.0, 0.0, 1.0, 0.5]),
    ],
    ids=["no lower bound", "no upper bound", "hard_tanh", "ReLU layer with a limit"],
)
@pytest.mark.parametrize("mode", ["eager", "outer", "inner"])
def test_clip_with_other_bounds(f, slope, mode):
    with surrogate.override("tensorflow", {"clip": "leaky(leak=0.5)"}):
        found = tensorflow_modes.ALL[mode](f, tf.constant(X))
    np.testing.assert_array_equal(found, slope)


@pytest.mark.parametrize("mode", MODES)
def test_round_with_decimals(mode):
    x = np.array([0.125, 1.875, -2.375], np.float32)
    with surrogate.override("tensorflow", {"round": "sine"}):
        found = tensorflow_modes.ALL[mode](lambda x: keras.ops.round(x, 1), tf.constant(x))
    np.testing.assert_allclose(found, reference.vjp("round", "sine", x, decimals=1)[0], rtol=1e-5)


FLOATS = [op for op in sorted(surrogate.load_backend("tensorflow").ops) if surrogate.op(op).output == "float"]


@pytest.mark.parametrize("op", FLOATS)
def test_the_value_is_native_bit_by_bit(op, backend):
    inputs = [tf.constant(X), tf.constant(0.75), tf.constant(2.5)][: surrogate.op(op).arity]
    native = backend.call(op, *inputs)
    with surrogate.override("tensorflow", {op: surrogate.gradients(op)[0]}), tf.GradientTape() as t:
        t.watch(inputs)
        found = backend.call(op, *inputs)
    assert found.numpy().tobytes() == native.numpy().tobytes()


@pytest.mark.filterwarnings("ignore::surrogate.NothingCapturedWarning")
@pytest.mark.parametrize(
    ("op", "dtype"),
    [
        *((op, dtype) for op in ("sign", "mod", "floor_divide", "clip") for dtype in (tf.int32, tf.int64)),
        ("sign", tf.complex64),
    ],
    ids=str,
)
def test_other_dtypes_are_left_alone(op, dtype, backend):
    inputs = [tf.cast(tf.constant([3, -5]), dtype), tf.cast(2, dtype), tf.cast(4, dtype)]
    inputs = inputs[: surrogate.op(op).arity]
    native = backend.call(op, *inputs)
    with surrogate.override("tensorflow", {op: "identity"}) as o, tf.GradientTape():
        np.testing.assert_array_equal(backend.call(op, *inputs), native)
        np.testing.assert_array_equal(tf.function(lambda: backend.call(op, *inputs))(), native)
    assert o.hits[op] == 0
