"""Rules per Keras layer: inside its call only, eager and compiled, copied with it."""

import copy
import gc
import pickle

import keras
import numpy as np
import pytest
import surrogate_tensorflow
import tensorflow as tf

import surrogate

# Keras' own, where it saves
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
X = np.array([[0.5, 2.0]], "float32")


@pytest.fixture(autouse=True)
def nothing_stays():
    """Rules go with the layers that they are on."""
    yield
    tf.keras.backend.clear_session()
    gc.collect()
    assert not surrogate.load_backend("tensorflow").scope.attached


@keras.saving.register_keras_serializable()
class Act(keras.Layer):
    def call(self, x):
        return keras.ops.sign(x)


@keras.saving.register_keras_serializable()
class Block(keras.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.act = Act(name="act")

    def build(self, shape):
        self.act.build(shape)

    def call(self, x):
        return 10 * self.act(x) + keras.ops.sign(x)


def functional():
    x = keras.Input((2,))
    total = keras.layers.Add(name="add")([Act(name="a")(x), Block(name="enc")(x)])
    return keras.Model(x, total)


def sequential():
    return keras.Sequential([keras.Input((2,)), Act(name="a")])


RULES = {"a": {"sign": "identity"}, "enc.*": {"sign": "hardtanh"}}
WANTED = [[11.0, 1.0]]


def slopes(model):
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = model(x)
    found = tape.gradient(y, x)
    return [[0.0, 0.0]] if found is None else found.numpy().tolist()


@pytest.mark.parametrize("run", [lambda m: m, tf.function], ids=["eager", "function"])
def test_in_force_inside_the_layers_only_and_never_stale(run):
    model = functional()
    function = run(lambda x: model(x))
    assert slopes(function) == [[0.0, 0.0]]
    handle = surrogate_tensorflow.attach(model, RULES)
    assert slopes(function) == WANTED
    assert model.weights == []
    with surrogate.override("tensorflow", {"sign": "identity"}):
        assert slopes(function) == [[12.0, 2.0]]
    handle.undo()
    assert slopes(function) == [[0.0, 0.0]]
    again = surrogate_tensorflow.attach(model, {"a": {"sign": "hardtanh"}})
    assert slopes(function) == [[1.0, 0.0]]
    again.undo()
    assert "call" not in vars(model.get_layer("a"))


@pytest.mark.parametrize(
    "copied",
    [keras.models.clone_model, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))],
    ids=["clone_model", "deepcopy", "pickle"],
)
@pytest.mark.parametrize(
    ("make", "rules", "wanted"),
    [
        (functional, RULES, WANTED),
        (functional, {"sign": "identity"}, [[12.0, 12.0]]),
        (sequential, {"sign": "identity"}, [[1.0, 1.0]]),
    ],
    ids=["layers", "functional", "sequential"],
)
def test_a_copy_has_them_too(copied, make, rules, wanted):
    model = make()
    handle = surrogate_tensorflow.attach(model, rules)
    found = copied(model)
    handle.undo()
    assert found is not model
    assert slopes(found) == wanted
    assert slopes(model) == [[0.0, 0.0]]


def test_it_trains_and_its_files_know_nothing_of_it(tmp_path):
    model = keras.Sequential(
        [keras.Input((2,)), keras.layers.Dense(2, kernel_initializer="ones"), Act(name="act")]
    )
    surrogate_tensorflow.attach(model, {"act": {"sign": "identity"}})
    model.compile("sgd", "mse")
    model.fit(X, -np.ones((1, 2)), epochs=2, verbose=0)
    assert not (model.layers[0].kernel.numpy() == 1).all()
    model.save(tmp_path / "model.keras")
    model.save_weights(tmp_path / "model.weights.h5")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    loaded.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(loaded(X), model(X))
    assert slopes(loaded) == [[0.0, 0.0]]


def test_fit_follows_what_is_attached_between():
    model = keras.Sequential(
        [keras.Input((2,)), keras.layers.Dense(2, kernel_initializer="ones"), Act(name="act")]
    )
    model.compile(keras.optimizers.SGD(0.1), "mse")
    kernel = model.layers[0].kernel
    steps = []
    for rules in (None, {"act": {"sign": "identity"}}, None):
        handle = rules and surrogate_tensorflow.attach(model, rules)
        before = kernel.numpy()
        model.fit(X, -np.ones((1, 2)), verbose=0)
        steps.append(bool((kernel.numpy() != before).any()))
        if handle:
            handle.undo()
    assert steps == [False, True, False]


def test_what_was_traced_under_the_same_rules_is_found_again():
    model, traces = functional(), []

    @tf.function
    def function(x):
        traces.append(x)
        return model(x)

    specs = (None, "identity", "hardtanh", "identity", None, "hardtanh", "identity")
    wanted = {None: [[0.0, 0.0]], "identity": [[1.0, 1.0]], "hardtanh": [[1.0, 0.0]]}
    for spec in specs:
        handle = surrogate_tensorflow.attach(model, {"a": {"sign": spec}}) if spec else None
        assert slopes(function) == wanted[spec]
        if handle is not None:
            handle.undo()
    assert len(traces) == 3


def test_later_ones_win_and_any_order_of_undoing_is_right():
    model = sequential()
    first, second = (
        surrogate_tensorflow.attach(model, {"a": {"sign": spec}}) for spec in ("identity", "hardtanh")
    )
    assert slopes(model) == [[1.0, 0.0]]
    first.undo()
    assert slopes(model) == [[1.0, 0.0]]
    second.undo()
    assert slopes(model) == [[0.0, 0.0]]


@pytest.mark.parametrize(
    ("rules", "error", "message"),
    [
        ({"encc.*": {"sign": "identity"}}, surrogate.UnknownNameError, "unknown module 'encc"),
        ({"a": {"sgn": "identity"}}, surrogate.UnknownOpError, "did you mean 'sign'"),
        ({}, surrogate.SpecError, "rules are a mapping"),
    ],
)
def test_what_is_wrong_is_refused_and_nothing_is_attached(rules, error, message):
    model = functional()
    with pytest.raises(error, match=message):
        surrogate_tensorflow.attach(model, rules)
    with pytest.raises(TypeError, match="takes a Keras layer or model, not function"):
        surrogate_tensorflow.attach(lambda x: x, {"sign": "identity"})
    assert slopes(model) == [[0.0, 0.0]]
