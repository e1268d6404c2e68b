"""Functions made of several ops: one op of ours, or none."""

import inspect
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_modes
from surrogate_tensorflow import _composites, _swap

import surrogate

LEAKY = {"clip": "leaky(leak=0.5)"}


def test_all_of_tensorflows_own_are_found(backend):
    found = {swap.key.rpartition("tensorflow.")[2] for swap in _composites._swaps}
    assert {"python.ops.clip_ops.clip_by_value", "numpy.quantile", "numpy.round"} <= found


def test_what_is_no_function_is_refused():
    with pytest.raises(surrogate.IncompatibleFrameworkError, match="no plain function"):
        _swap.Swap("tensorflow.python.ops.clip_ops", "ops", lambda native: None)


def test_parts_of_a_composite_are_not_the_users(x):
    with pytest.warns(surrogate.NothingCapturedWarning, match="floor"):
        with surrogate.override("tensorflow", {"floor": "clipped(lo=-8, hi=8)"}):
            found = tensorflow_modes.eager(lambda x: keras.ops.trunc(x) + 0.0 * x, x)
    np.testing.assert_array_equal(found, [0.0] * 4)


@pytest.mark.parametrize("mode", ["eager", "outer", "inner", "symbolic", "jit_inner"])
def test_bounds_get_their_part(mode):
    x = tf.constant([-3.0, 0.0, 3.0])
    lo, hi = tf.constant(-1.0), tf.constant([1.0, 1.0, 2.0])
    run = tensorflow_modes.ALL[mode]
    with surrogate.override("tensorflow", {"clip": "closed"}):
        by_x = run(lambda v: tf.clip_by_value(v, lo, hi), x)
        by_lo = run(lambda v: tf.clip_by_value(x, v, hi), lo)
        by_hi = run(lambda v: tf.clip_by_value(x, lo, v), hi)
    np.testing.assert_array_equal(by_x, [0.0, 1.0, 0.0])
    np.testing.assert_array_equal(by_lo, 1.0)
    np.testing.assert_array_equal(by_hi, [0.0, 0.0, 1.0])


@pytest.mark.parametrize("mode", ["eager", "outer", "inner"])
def test_vectorized_with_bounds_that_are_mapped_too(mode):
    """Each row has bounds of its own, of lower rank than what is clipped."""
    x = tf.constant([[-3.0, 0.0, 3.0], [-3.0, 0.0, 3.0]])
    hi = tf.constant([1.0, 4.0])

    def f(x):
        return tf.vectorized_map(
            lambda row: tf.clip_by_value(row[0], -1.0, row[1]), (x, hi), fallback_to_while_loop=False
        )

    with surrogate.override("tensorflow", LEAKY):
        found = tensorflow_modes.ALL[mode](f, x)
    np.testing.assert_array_equal(found, [[0.5, 1.0, 0.5], [0.5, 1.0, 1.0]])


def test_vectorized_without_known_ranks_is_refused():
    @tf.function(input_signature=[tf.TensorSpec(None)])
    def f(x):
        def row(v):
            w = tf.reshape(v, tf.py_function(lambda v: tf.shape(v), [v], tf.int32))
            w = tf.ensure_shape(w, None)
            return tf.clip_by_value(w, -1.0, 1.0)

        return tf.vectorized_map(row, x, fallback_to_while_loop=False)

    with surrogate.override("tensorflow", LEAKY), pytest.raises((surrogate.UnsupportedOpError, ValueError)):
        f(tf.ones([2, 3]))


def test_sparse_gradients_are_clipped_as_natively():
    slices = tf.IndexedSlices(tf.constant([[3.0, -0.5]]), tf.constant([1]), tf.constant([4, 2]))
    native = tf.clip_by_value(slices, -1.0, 1.0)
    with surrogate.use("tensorflow", LEAKY), tf.GradientTape() as tape:
        tape.watch(slices.values)
        found = tf.clip_by_value(slices, -1.0, 1.0)
    np.testing.assert_array_equal(found.values, native.values)
    np.testing.assert_array_equal(tape.gradient(found.values, slices.values), [[0.5, 1.0]])


def test_ragged_and_sparse_tensors(x):
    with surrogate.override("tensorflow", {"sign": "hardtanh", **LEAKY}):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            ragged = tf.RaggedTensor.from_row_lengths(x, [1, 3])
            sign, clip = tf.sign(ragged).flat_values, tf.clip_by_value(ragged, -1.0, 1.0).flat_values
            sparse = tf.sparse.map_values(tf.sign, tf.SparseTensor([[0], [2], [3], [5]], x, [9])).values
        assert tape.gradient(sign, x).numpy().tolist() == [0.0, 1.0, 1.0, 0.0]
        assert tape.gradient(clip, x).numpy().tolist() == [0.5, 1.0, 1.0, 0.5]
        assert tape.gradient(sparse, x).numpy().tolist() == [0.0, 1.0, 1.0, 0.0]


def doubled(xp, x):
    """2: to be seen wherever it leaks."""
    return 2.0


def prelu():
    return keras.layers.PReLU(alpha_initializer=keras.initializers.Constant(0.25))


@pytest.mark.parametrize("mode", ["eager", "inner", "jit_inner"])
@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (prelu, [0.25, 0.25, 1.0, 1.0]),
        (lambda: keras.regularizers.L1(0.5), [-0.5, -0.5, 0.5, 0.5]),
        (lambda: keras.regularizers.L1L2(0.5, 0.0), [-0.5, -0.5, 0.5, 0.5]),
    ],
    ids=["PReLU", "L1", "L1L2"],
)
def test_layers_and_regularizers_keep_their_gradient(make, expected, mode):
    with surrogate.use("tensorflow", {"relu": doubled, "abs": doubled}):
        tensorflow_modes.eager(tf.abs, tf.ones([1]))
        f = make()
        f(tf.ones([4]))
        found = tensorflow_modes.ALL[mode](lambda x: f(x), tf.constant([-2.0, -0.5, 0.5, 2.0]))
    np.testing.assert_array_equal(found, expected)


def test_signatures_are_kept(x):
    with surrogate.use("tensorflow", LEAKY):
        tensorflow_modes.eager(lambda x: tf.clip_by_value(x, -1.0, 1.0), x)
        assert list(inspect.signature(tf.clip_by_value).parameters)[:3] == [
            "t",
            "clip_value_min",
            "clip_value_max",
        ]
        assert list(inspect.signature(keras.layers.PReLU.call).parameters) == ["self", "inputs"]


@pytest.mark.filterwarnings("ignore::surrogate.NothingCapturedWarning")
def test_native_errors_stay():
    with surrogate.use("tensorflow", LEAKY):
        with pytest.raises((TypeError, ValueError, tf.errors.InvalidArgumentError)):
            tf.clip_by_value(tf.constant([1, 2]), -3.1, 3.1)
        with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
            tf.clip_by_value(tf.ones([2, 3]), tf.ones([3, 1, 2]), 2.0)
        with pytest.raises(TypeError):
            tf.clip_by_value(tf.ones([2]))


def test_names_are_kept():
    with surrogate.use("tensorflow", LEAKY), tf.Graph().as_default() as graph:
        tf.clip_by_value(tf.constant([1.0]), -1.0, 1.0, name="mine")
        assert "mine" in [op.name for op in graph.get_operations()]


NUMPY_BEHAVIOR = """
import surrogate, tensorflow as tf, tensorflow.experimental.numpy as tnp
tnp.experimental_enable_numpy_behavior()
x = tf.constant([-2.25, 0.75])
def slope(f):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x).numpy().tolist()
CASES = (
    ("round", tnp.round), ("round", tnp.around), ("round", lambda x: tnp.round(x, 1)), ("round", tf.round),
    ("round", round), ("mod", lambda x: x % 2), ("mod", lambda x: tnp.mod(x, 2)),
    ("mod", lambda x: tnp.remainder(x, 2)), ("sign", tnp.sign), ("floor_divide", lambda x: x // 1),
    ("clip", lambda x: x.clip(-1, 1)), ("clip", lambda x: tnp.clip(x, None, 0)), ("trunc", tnp.fix),
    ("heaviside", lambda x: tnp.heaviside(x, 0)), ("floor", tnp.floor),
)
for op, f in CASES:
    for g in (f, tf.function(f, autograph=False)):
        with surrogate.override("tensorflow", {op: "identity"}) as o:
            assert slope(g) == [1.0, 1.0], (op, slope(g))
        assert o.hits[op] == 1, (op, o.hits)
print("all right")
"""


def test_with_numpy_behavior_enabled():
    run = subprocess.run([sys.executable, "-c", NUMPY_BEHAVIOR], capture_output=True, text=True, check=False)
    assert run.stdout == "all right\n", run.stderr[-3000:]
