"""All the ways to write an op are the same op: what the kit's check of every spelling does not say."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tensorflow.experimental.numpy as tnp
import tensorflow_modes
from tensorflow import clip_by_value as taken_before, sign as sign_taken_before

import surrogate
from surrogate import reference

X = np.array([-2.5, -1.0, -0.25, 0.75, 3.5], np.float32)

MODES = ("eager", "variable", "outer", "inner", "symbolic", "jit_inner", "forward")
FLOATS = [op for op in sorted(surrogate.load_backend("tensorflow").ops) if surrogate.op(op).output == "float"]


def written(op):
    """The spellings of an op that leave its inputs to their caller, as functions of the first."""
    others = [tf.constant(one, tf.float32) for one in surrogate.op(op).samples.rest(surrogate.op(op).arity)]
    every = surrogate.load_backend("tensorflow").driver().spellings(op).values()
    return [
        lambda x, f=f: f(x, *(tf.fill(x.shape, one) for one in others))
        for f in every
        if not isinstance(f, surrogate.Spelling)
    ]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("op", FLOATS)
def test_every_spelling_in_every_mode(op, mode):
    """The kit tries each spelling alone; here all of an op in one function, in TensorFlow's own modes."""
    rest = surrogate.op(op).samples.rest(surrogate.op(op).arity)
    spec = next(name for name in surrogate.gradients(op) if not surrogate.gradient(op, name).upstream)
    functions = written(op)
    with surrogate.override("tensorflow", {op: spec}):
        found = tensorflow_modes.ALL[mode](lambda x: tf.add_n([f(x) for f in functions]), tf.constant(X))
    each = reference.vjp(op, spec, X, *(np.full_like(X, one) for one in rest))[0]
    np.testing.assert_allclose(found, len(functions) * each, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mode", MODES)
def test_a_function_that_was_taken_before(mode):
    with surrogate.override("tensorflow", {"sign": "tanh"}):
        found = tensorflow_modes.ALL[mode](sign_taken_before, tf.constant(X))
    np.testing.assert_allclose(found, reference.vjp("sign", "tanh", X)[0], rtol=1e-6, atol=1e-6)


DEFAULT = {op: surrogate.op(op).default for op in ("mod", "floor_divide")}


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
    "from import": lambda x: taken_before(x, -1.0, 2.0),
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


@pytest.mark.parametrize("op", FLOATS)
def test_the_value_is_native_bit_by_bit(op, backend):
    inputs = [tf.constant(X), tf.constant(0.75), tf.constant(2.5)][: surrogate.op(op).arity]
    native = backend.driver().call(op, *inputs)
    with surrogate.override("tensorflow", {op: surrogate.gradients(op)[0]}), tf.GradientTape() as t:
        t.watch(inputs)
        found = backend.driver().call(op, *inputs)
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
    native = backend.driver().call(op, *inputs)
    with surrogate.override("tensorflow", {op: "identity"}) as o, tf.GradientTape():
        np.testing.assert_array_equal(backend.driver().call(op, *inputs), native)
        np.testing.assert_array_equal(tf.function(lambda: backend.driver().call(op, *inputs))(), native)
    assert o.hits[op] == 0
