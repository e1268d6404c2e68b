"""TensorFlow's own ops by op type: values worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import surrogate

V = tf.constant([-1.0, 2.0, 3.0])
IMAGE = tf.reshape(tf.range(16.0), (1, 4, 4, 1))


@surrogate.register_native("tensorflow", "MaxPool", name="even_share")
def even_share(call: Any, g: Any) -> Any:
    """Every element of the window gets an equal share."""
    _, rows, columns, _ = call.attributes["ksize"]
    return tf.repeat(tf.repeat(g, rows, axis=1), columns, axis=2) / (rows * columns)


def pushed(call: Any, tangents: Any, *, factor: float = 1.0) -> Any:
    return -factor * tangents[0]


@surrogate.register_native("tensorflow", "Relu", name="reversed", jvp=pushed)
def reversed_relu(call: Any, g: Any, *, factor: float = 1.0) -> Any:
    assert call.inputs["features"] is call.inputs[0]
    return -factor * call.native(g)


def slope(f: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x).numpy()


def pool(x: Any) -> Any:
    return tf.nn.max_pool2d(x, 2, 2, "VALID")


compiled_pool = tf.function(pool)


@pytest.mark.parametrize("f", [pool, compiled_pool], ids=["eager", "function"])
def test_max_pooling_everywhere_and_never_stale(f: Any) -> None:
    native = slope(f, IMAGE)
    with surrogate.override("tensorflow", {"MaxPool": "even_share"}) as o:
        assert (f(IMAGE) == pool(IMAGE)).numpy().all()
        assert (slope(f, IMAGE) == 0.25).all()
    assert o.hits["MaxPool"] >= 1
    assert (slope(f, IMAGE) == native).all()


def test_keras_and_vectorized_map() -> None:
    layer = tf.keras.layers.MaxPooling2D(2)
    with surrogate.override("tensorflow", {"MaxPool": "even_share", "Relu": "reversed"}):
        assert (slope(layer, IMAGE) == 0.25).all()
        mapped = slope(lambda x: tf.vectorized_map(tf.nn.relu, x, fallback_to_while_loop=False), V)
        assert mapped.tolist() == [0.0, -1.0, -1.0]


@pytest.mark.parametrize("f", [tf.nn.relu, tf.function(tf.nn.relu)], ids=["eager", "function"])
def test_the_ops_own_gradient_and_parameters(f: Any) -> None:
    with surrogate.override("tensorflow", {"Relu": "reversed(factor=2)"}):
        assert slope(f, V).tolist() == [0.0, -2.0, -2.0]


def test_forward_mode() -> None:
    with surrogate.override("tensorflow", {"Relu": "reversed"}):
        with tf.autodiff.ForwardAccumulator(V, V) as accumulator:
            y = tf.nn.relu(V)
        assert accumulator.jvp(y).numpy().tolist() == [1.0, -2.0, -3.0]
    with (
        pytest.raises(surrogate.ForwardModeError, match="register it with jvp="),
        surrogate.override("tensorflow", {"MaxPool": "even_share"}),
        tf.autodiff.ForwardAccumulator(IMAGE, IMAGE),
    ):
        pool(IMAGE)


def test_integer_outputs_and_several() -> None:
    def back(call: Any, g: Any) -> Any:
        assert call.outputs["indices"].dtype == tf.int32
        return tf.ones_like(call.inputs["input"]) * tf.reduce_sum(g)

    with surrogate.override("tensorflow", {"TopKV2": back}) as o:
        assert slope(lambda x: tf.math.top_k(x, 2).values, V).tolist() == [2.0, 2.0, 2.0]
        assert slope(tf.function(lambda x: tf.math.top_k(x, 2)[0]), V).tolist() == [2.0, 2.0, 2.0]
    assert o.hits == {"TopKV2": 2}


def test_a_hole_and_the_catalogues_rule_beside_it() -> None:
    five = {"sign": "identity", "Sign": lambda call, g: 5 * g}
    with surrogate.override("tensorflow", five):
        assert slope(tf.sign, V).tolist() == [5.0, 5.0, 5.0]
        with surrogate.override("tensorflow", {"Sign": "native"}):
            assert slope(tf.sign, V).tolist() == [1.0, 1.0, 1.0]


def test_a_wrong_formula_is_named() -> None:
    with (
        pytest.raises(
            surrogate.FormulaError, match=r"gives features a cotangent of shape \(\); it must have"
        ),
        surrogate.override("tensorflow", {"Relu": lambda call, g: tf.reduce_sum(g)}),
    ):
        slope(tf.nn.relu, V)


@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        ("MaxPol", surrogate.UnknownOpError, "did you mean 'MaxPool'"),
        ("sgin", surrogate.UnknownOpError, "did you mean 'sign'"),
        ("While", surrogate.UnsupportedOpError, "it runs other functions"),
        ("ArgMax", surrogate.UnsupportedOpError, "integers or booleans"),
        ("Equal", surrogate.UnsupportedOpError, "integers or booleans"),
        ("tf.nn.max_pool2d", surrogate.UnknownOpError, "it ends in 'MaxPool'"),
        ("tf.nn.softmax", surrogate.UnknownOpError, "it ends in 'Softmax'"),
    ],
)
def test_names(key: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        surrogate.override("tensorflow", {key: lambda call, g: g})


TABLE = tf.ones((2, 4))
CALLS: dict[str, list[Any]] = {
    "avg_pool2d": [lambda: tf.nn.avg_pool2d(IMAGE, 2, 2, "VALID")],
    "batch_normalization": [lambda: tf.nn.batch_normalization(TABLE, TABLE, TABLE, TABLE, TABLE, 1e-3)],
    "conv2d_transpose": [
        lambda: tf.nn.conv2d_transpose(IMAGE, tf.ones((2, 2, 1, 1)), (1, 8, 8, 1), 2),
    ],
    "gather": [lambda: tf.gather(TABLE, [0])],
    "matmul": [
        lambda: tf.matmul(TABLE, TABLE, transpose_b=True),
        lambda: IMAGE @ IMAGE[..., :1, :],
    ],
    "max_pool2d": [lambda: tf.nn.max_pool2d(IMAGE, 2, 2, "VALID")],
    "reduce_max": [lambda: tf.reduce_max(TABLE)],
    "reduce_mean": [lambda: tf.reduce_mean(TABLE)],
    "reduce_min": [lambda: tf.reduce_min(TABLE)],
    "reduce_sum": [lambda: tf.reduce_sum(TABLE)],
    "sort": [lambda: tf.sort(TABLE)],
    "top_k": [lambda: tf.math.top_k(TABLE, 2)],
}


def test_public_functions_end_in_the_op_types_that_they_are_answered_with() -> None:
    from surrogate_tensorflow._natives import ENDS

    assert set(ENDS) == set(CALLS)
    for name, calls in CALLS.items():
        rules = {key: lambda call, g: [None] * len(call.inputs) for key in ENDS[name]}
        with surrogate.override("tensorflow", rules) as o, tf.GradientTape() as tape:
            tape.watch([TABLE, IMAGE])
            for call in calls:
                call()
        assert all(o.hits.values()), (name, o.hits)


TABLE_OF_4 = tf.constant([0.0, 1.0, 4.0, 9.0])
AT, MOVED = tf.constant([0.25, 2.5, 3.2]), tf.constant([1.0, 10.0, 100.0])
LOOK_UP = {
    "floor": "identity",
    "astype": "identity",
    "GatherV2": "interpolated",
    "StridedSlice": "interpolated",
}


def look_up(at: Any) -> Any:
    return tf.gather(TABLE_OF_4, tf.cast(tf.floor(at), tf.int32))


def test_a_look_up_by_a_float_that_was_floored() -> None:
    with surrogate.override("tensorflow", LOOK_UP) as o:
        for f in (look_up, tf.function(look_up)):
            with tf.autodiff.ForwardAccumulator(AT, MOVED) as accumulator:
                y = f(AT)
            assert accumulator.jvp(y).numpy().tolist() == [1.0, 50.0, 0.0]
            assert slope(f, AT).tolist() == [1.0, 5.0, 0.0]
        assert slope(lambda x: TABLE_OF_4[tf.cast(tf.floor(x[1]), tf.int32)], AT).tolist() == [0.0, 5.0, 0.0]
    assert o.hits["GatherV2"] >= 2
    assert o.hits["StridedSlice"] >= 1


def test_rows_that_were_looked_up_can_be_scaled() -> None:
    with surrogate.override("tensorflow", {"GatherV2": "scaled(factor=3)"}):
        found = slope(lambda x: tf.gather(x, [1, 1]), V)
    assert np.asarray(tf.convert_to_tensor(found)).tolist() == [0.0, 6.0, 0.0]


def test_forward_mode_of_a_formula_that_is_linear_in_the_upstream_gradient() -> None:
    formula = surrogate.register_native("tensorflow", "Tanh", name="thrice", jvp="transposed")
    formula(lambda call, g: 3 * call.native(g))
    with surrogate.override("tensorflow", {"Tanh": "thrice"}):
        with tf.autodiff.ForwardAccumulator(V, V) as accumulator:
            y = tf.tanh(V)
        np.testing.assert_allclose(accumulator.jvp(y), 3 * V * (1 - y * y), rtol=1e-6)
        with tf.autodiff.ForwardAccumulator(V, V) as accumulator:
            y = tf.function(tf.tanh)(V)
        np.testing.assert_allclose(accumulator.jvp(y), 3 * V * (1 - y * y), rtol=1e-6)


def test_a_function_that_holds_what_has_no_forward_mode_is_refused() -> None:
    with surrogate.override("tensorflow", {"Tanh": "guided"}):
        f = tf.function(tf.tanh)
        with (
            pytest.raises(surrogate.ForwardModeError, match="Tanh:guided has no forward mode"),
            tf.autodiff.ForwardAccumulator(V, V),
        ):
            f(V)
