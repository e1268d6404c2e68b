"""TensorFlow 1's gradient_override_map, alive again."""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_modes
from surrogate_tensorflow import gradient_override_map

import surrogate


@tf.RegisterGradient("QuantizeGrad")
def quantize_grad(op, grad):
    return tf.where(tf.abs(op.inputs[0]) <= 1.0, grad, tf.zeros_like(grad))


@tf.RegisterGradient("Doubled")
def doubled(op, grad):
    return 2.0 * grad


@pytest.mark.parametrize("mode", sorted(set(tensorflow_modes.ALL) - {"forward_over_reverse"}))
def test_the_classic_program_in_every_mode(mode, x):
    with gradient_override_map({"Sign": "QuantizeGrad"}):
        found = tensorflow_modes.ALL[mode](tf.sign, x)
    np.testing.assert_array_equal(found, [0.0, 1.0, 1.0, 0.0])


@pytest.mark.parametrize("mode", ["eager", "outer", "inner", "symbolic", "jit_inner", "graph_v1"])
def test_native_before_and_after(mode, x):
    run = tensorflow_modes.ALL[mode]
    for _ in range(2):
        np.testing.assert_array_equal(run(tf.sign, x), [0.0] * 4)
        with gradient_override_map({"Sign": "QuantizeGrad"}):
            np.testing.assert_array_equal(run(tf.sign, x), [0.0, 1.0, 1.0, 0.0])


def test_one_function_is_never_stale(x):
    f = tf.function(tf.sign)
    found = []
    for name in (None, "QuantizeGrad", None, "Doubled", "QuantizeGrad"):
        if name is None:
            found.append(tensorflow_modes.eager(f, x).numpy().tolist())
        else:
            with gradient_override_map({"Sign": name}):
                found.append(tensorflow_modes.eager(f, x).numpy().tolist())
    window, zero = [0.0, 1.0, 1.0, 0.0], [0.0] * 4
    assert found == [zero, window, zero, [2.0] * 4, window]
    assert f.experimental_get_tracing_count() == 3


def test_in_keras_fit():
    class Binary(keras.layers.Layer):
        def call(self, x):
            return tf.sign(x)

    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2), Binary(), keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.SGD(0.1), loss="mse")
    data = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3), np.ones((4, 1), np.float32)
    moved = []
    for on in (False, True, False):
        before = model.layers[0].kernel.numpy()
        if on:
            with gradient_override_map({"Sign": "QuantizeGrad"}):
                model.fit(*data, verbose=0)
        else:
            model.fit(*data, verbose=0)
        moved.append(bool(np.abs(model.layers[0].kernel.numpy() - before).max() > 0))
    assert moved == [False, True, False]


def test_nests_and_the_inner_one_wins(x):
    with gradient_override_map({"Sign": "QuantizeGrad", "Floor": "Doubled"}):
        with gradient_override_map({"Sign": "Doubled"}):
            np.testing.assert_array_equal(tensorflow_modes.eager(tf.sign, x), [2.0] * 4)
            np.testing.assert_array_equal(tensorflow_modes.eager(tf.floor, x), [2.0] * 4)
        np.testing.assert_array_equal(tensorflow_modes.eager(tf.sign, x), [0.0, 1.0, 1.0, 0.0])


def test_wins_over_rules_and_leaves_the_others_alone(x):
    with surrogate.override("tensorflow", {"sign": "hardtanh", "round": "identity"}) as o:
        with gradient_override_map({"Sign": "Doubled"}):
            np.testing.assert_array_equal(tensorflow_modes.outer(tf.sign, x), [2.0] * 4)
            np.testing.assert_array_equal(tensorflow_modes.outer(tf.round, x), [1.0] * 4)
    assert o.hits == {"sign": 0, "round": 1}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("Sign", "is a dict like {'Sign': 'Mine'}, not 'Sign'"),
        ([("Sign", "Doubled")], "is a dict like"),
        ({"Sign": len}, "write @tf.RegisterGradient('Mine') above the function"),
    ],
    ids=["string", "list", "function"],
)
def test_what_is_no_map_of_names_is_refused(given, message):
    with pytest.raises(surrogate.SpecError, match=re.escape(message)):
        with gradient_override_map(given):
            pass


def test_any_op_type(x):
    with gradient_override_map({"Exp": "Doubled"}):
        np.testing.assert_array_equal(tensorflow_modes.eager(tf.exp, x), [2.0] * 4)


def test_sees_through_composites(x):
    with gradient_override_map({"Minimum": "ToFirst"}):
        found = tensorflow_modes.eager(lambda x: tf.clip_by_value(x, -1.0, 1.0), x)
    np.testing.assert_array_equal(found, [0.0, 2.0, 2.0, 2.0])


@tf.RegisterGradient("ToFirst")
def to_first(op, grad):
    return 2.0 * grad, None


def test_attributes_outputs_and_type_can_be_read(x):
    seen = []

    @tf.RegisterGradient("Reads")
    def reads(op, grad):
        seen.append((op.type, op.get_attr("T"), op.outputs[0].shape))
        with pytest.raises(ValueError, match="nothing"):
            op.get_attr("nothing")
        return grad

    with gradient_override_map({"Sign": "Reads"}):
        tensorflow_modes.eager(tf.sign, x)
        tensorflow_modes.outer(tf.sign, x)
    assert seen == [("Sign", tf.float32, (4,))] * 2


def test_restores_on_an_exception(x):
    with pytest.raises(ZeroDivisionError), gradient_override_map({"Sign": "Doubled"}):
        raise ZeroDivisionError
    np.testing.assert_array_equal(tensorflow_modes.eager(tf.sign, x), [0.0] * 4)


def test_functions_in_a_gradient_see_no_overrides(x):
    @tf.RegisterGradient("Inner")
    def inner(op, grad):
        with tf.GradientTape() as tape:
            tape.watch(op.inputs[0])
            y = tf.sign(op.inputs[0])
        return grad + tape.gradient(y, op.inputs[0])

    with gradient_override_map({"Sign": "Inner"}):
        np.testing.assert_array_equal(tensorflow_modes.eager(tf.sign, x), [1.0] * 4)


@pytest.mark.parametrize(
    ("key", "error", "words"),
    [
        ({"sign": "Doubled"}, surrogate.UnknownOpError, "'Sign'"),
        ({"Matmul": "Doubled"}, surrogate.UnknownOpError, "'MatMul'"),
        ({"mod": "Doubled"}, surrogate.UnknownOpError, "'FloorMod'"),
        ({"Sign": "Quantizegrad"}, surrogate.UnknownGradientError, "'QuantizeGrad'"),
        ({"Sign": "Nothing like it at all"}, surrogate.UnknownGradientError, "tf.RegisterGradient"),
    ],
)
def test_unknown_names_are_refused_with_a_suggestion(key, error, words):
    with pytest.raises(error, match=words), gradient_override_map(key):
        pass


def test_the_map_of_a_graph_itself_still_wins(x):
    with tf.Graph().as_default() as graph, surrogate.override("tensorflow", {"sign": "hardtanh"}):
        held = tf.constant(x.numpy())
        with graph.gradient_override_map({"Sign": "Doubled"}):
            y = tf.sign(held)
        slopes = tf.gradients(y, held)[0], tf.gradients(tf.sign(held), held)[0]
        with tf.compat.v1.Session() as session:
            found = session.run(slopes)
    np.testing.assert_array_equal(found, [[2.0] * 4, [0.0, 1.0, 1.0, 0.0]])


class TestABlockThatCapturesNothing:
    """The commonest mistake of TensorFlow 1: the op type is another than one thinks."""

    def run(self, op_type, f, x, *, graph=False):
        with gradient_override_map({op_type: "Identity"}), tf.GradientTape() as tape:
            tape.watch(x)
            y = (tf.function(f, autograph=False) if graph else f)(x)
        return tape.gradient(y, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)

    @pytest.mark.parametrize("graph", [False, True], ids=["eager", "graph"])
    def test_names_what_did_run(self, x, graph):
        with pytest.warns(
            surrogate.NothingCapturedWarning, match=r"of Floor captured nothing: .*Round.* did"
        ):
            self.run("Floor", tf.round, x, graph=graph)

    @pytest.mark.parametrize("graph", [False, True], ids=["eager", "graph"])
    def test_says_what_continues_a_comparison(self, x, graph):
        with pytest.warns(surrogate.NothingCapturedWarning, match=r"Greater ran, .* ops are 'greater'"):
            self.run("Greater", lambda x: tf.cast(x > 0, x.dtype) + x, x, graph=graph)

    def test_is_told_at_the_line_of_the_block(self, x):
        with pytest.warns(surrogate.NothingCapturedWarning) as told:
            self.run("Floor", tf.round, x)
        assert told[0].filename == __file__

    @pytest.mark.filterwarnings("error")
    def test_is_not_meant_where_a_compiled_function_carries_the_gradient(self, x):
        f = tf.function(tf.math.ceil, autograph=False)
        for _ in range(2):
            with gradient_override_map({"Ceil": "Identity"}), tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            assert tape.gradient(y, x).numpy().tolist() == [1.0] * 4

    @pytest.mark.filterwarnings("error")
    def test_an_exception_is_not_hidden(self, x):
        with pytest.raises(ZeroDivisionError), gradient_override_map({"Floor": "Identity"}):
            raise ZeroDivisionError
