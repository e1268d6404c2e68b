"""Keras: layers, fit in every setting, loss scaling, strategies."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import surrogate

X = np.linspace(-2, 2, 24, dtype=np.float32).reshape(8, 3)
Y = np.ones((8, 1), np.float32)


class Sign(keras.layers.Layer):
    def call(self, x):
        return tf.sign(x)


@tf.custom_gradient
def _hardtanh(x):
    return tf.sign(x), lambda g: tf.where(tf.abs(x) <= 1, g, tf.zeros_like(g))


class HandWritten(keras.layers.Layer):
    def call(self, x):
        return _hardtanh(x)


def model_with(layer, **compiled):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4), layer, keras.layers.Dense(1)])
    compiled.setdefault("optimizer", keras.optimizers.SGD(0.1))
    model.compile(loss="mse", **compiled)
    return model


def fitted(model):
    before = model.layers[0].kernel.numpy()
    model.fit(X, Y, epochs=2, batch_size=4, shuffle=False, verbose=0)
    return model.layers[0].kernel.numpy() - before


def override(rules=None):
    return surrogate.override("tensorflow", rules or {"sign": "hardtanh"})


SETTINGS = {"default": {}, "jit": {"jit_compile": True}, "eager": {"run_eagerly": True}}


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize(
    "layer", [Sign, lambda: keras.layers.Lambda(keras.ops.sign)], ids=["tf", "keras.ops"]
)
def test_fit_moves_as_with_a_hand_written_gradient(setting, layer):
    with override():
        moved = fitted(model_with(layer(), **SETTINGS[setting]))
    expected = fitted(model_with(HandWritten(), **SETTINGS[setting]))
    assert np.abs(expected).max() > 1e-3
    np.testing.assert_array_equal(moved, expected)


@pytest.mark.parametrize("setting", SETTINGS)
def test_compiled_before_and_used_off_on_off(setting):
    model = model_with(Sign(), **SETTINGS[setting])
    moved = [np.abs(fitted(model)).max() > 0]
    with override():
        moved.append(np.abs(fitted(model)).max() > 0)
    moved.append(np.abs(fitted(model)).max() > 0)
    assert moved == [False, True, False]


def test_use_reaches_an_unmodified_model():
    with surrogate.use("tensorflow"):
        assert np.abs(fitted(model_with(Sign()))).max() > 0


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float16"])
def test_reduced_precision(policy):
    keras.config.set_dtype_policy(policy)
    try:
        ours, hand = model_with(Sign(), optimizer="sgd"), model_with(HandWritten(), optimizer="sgd")
        with override():
            moved = fitted(ours)
        if policy == "mixed_float16":
            assert isinstance(ours.optimizer, keras.optimizers.LossScaleOptimizer)
    finally:
        keras.config.set_dtype_policy("float32")
    assert np.abs(moved).max() > 0
    np.testing.assert_array_equal(moved, fitted(hand))


@pytest.mark.filterwarnings("ignore:Gradients do not exist")  # Keras, of the native round
@pytest.mark.parametrize("jit_compile", [False, True])
def test_quantized_activations(jit_compile):
    quantize = keras.layers.Lambda(lambda x: keras.ops.clip(keras.ops.round(4 * x) / 4, -1, 1))
    model = model_with(quantize, jit_compile=jit_compile)
    assert np.abs(fitted(model)).max() == 0
    with override({"round": "identity", "clip": "closed"}) as o:
        assert np.abs(fitted(model)).max() > 0
    assert o.hits["round"] >= 1
    assert o.hits["clip"] >= 1


@pytest.fixture(scope="module")
def strategy():
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


STEPS = {
    "run": lambda strategy, f: lambda: strategy.run(f),
    "run a function": lambda strategy, f: lambda: strategy.run(tf.function(f)),
    "run in a function": lambda strategy, f: tf.function(lambda: strategy.run(f)),
}


@pytest.mark.parametrize("how", STEPS)
def test_replicas_see_what_the_caller_sees(how, strategy):
    x = tf.constant([-2.0, 0.5])

    def slope():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sign(x)
        return tape.gradient(y, x)

    step = STEPS[how](strategy, slope)
    found = []
    for on in (False, True, False):
        if on:
            with override():
                result = step()
        else:
            result = step()
        found.append([value.numpy().tolist() for value in strategy.experimental_local_results(result)])
    assert found == [[[0.0, 0.0]] * 2, [[0.0, 1.0]] * 2, [[0.0, 0.0]] * 2]


def test_fit_on_mirrored_devices(strategy):
    with strategy.scope():
        model = model_with(Sign())
        hand = model_with(HandWritten())
    with override():
        moved = fitted(model)
    np.testing.assert_allclose(moved, fitted(hand), rtol=1e-5)
    assert np.abs(moved).max() > 0


@keras.saving.register_keras_serializable("surrogate_tests")
class Saved(Sign):
    pass


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # Keras reading its file
def test_a_keras_file_holds_no_rules(tmp_path):
    """The override is not part of a model: it is in force where the model runs."""
    with override():
        model = model_with(Saved())
        assert np.abs(fitted(model)).max() > 0
        model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again.predict(X, verbose=0), model.predict(X, verbose=0))
    assert np.abs(fitted(again)).max() == 0
    with override():
        assert np.abs(fitted(again)).max() > 0


@pytest.mark.filterwarnings("ignore::surrogate.NothingCapturedWarning")
def test_native_errors_stay_for_symbolic_tensors():
    with (
        surrogate.use("tensorflow", {"sign": "hardtanh"}) as o,
        pytest.raises(ValueError, match="KerasTensor"),
    ):
        tf.sign(keras.Input((3,)))
    assert not o.hits["sign"]
