"""SavedModels, in this process and in fresh ones."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_modes

import surrogate

X = [-2.0, -1.0, 0.5, 3.0]

FRESH = """
import json, sys
import tensorflow as tf
{imports}
x = tf.constant({x})
def slope(f):
    try:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x).numpy().tolist()
    except Exception as error:
        return type(error).__name__ + ": " + str(error)
found = {{}}
for name, path in {paths}.items():
    loaded = tf.saved_model.load(path)
    found[name] = {{"y": loaded.f(x).numpy().tolist()}}
    if {gradient}:
        found[name]["outer"] = slope(loaded.f)
        found[name]["inner"] = slope(tf.function(lambda x: loaded.f(x)))
        found[name]["signature"] = slope(lambda x: loaded.signatures["serving_default"](x)["y"])
print(json.dumps(found))
"""


def fresh(paths, *, imports="", gradient=True):
    """What a process of its own finds in models that were saved here."""
    code = FRESH.format(paths=paths, x=X, imports=imports, gradient=gradient)
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return json.loads(run.stdout.splitlines()[-1])


class Model(tf.Module):
    def __init__(self, f):
        super().__init__()
        self._f = f
        self.scale = tf.Variable(1.0)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def f(self, x):
        return self._f(self.scale * x)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def serve(self, x):
        return {"y": self.f(x)}


def looped(x):
    return tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, tf.sign(x) + 0.0 * y), (0, x))[1]


SAVED = {
    "sign": ({"sign": "hardtanh"}, tf.sign, np.sign(X), [0.0, 1.0, 1.0, 0.0]),
    "float rule": ({"sign": "softsign(alpha=1)"}, tf.sign, np.sign(X), [1 / 9, 1 / 4, 4 / 9, 1 / 16]),
    "binary": ({"floor_divide": "identity"}, lambda x: x // 2.0, [-1, -1, 0, 1], [0.5] * 4),
    "composite": (
        {"clip": "leaky(leak=0.25)"},
        lambda x: tf.clip_by_value(x, -1.0, 1.0),
        np.clip(X, -1, 1),
        [0.25, 1.0, 1.0, 0.25],
    ),
    "loop": ({"sign": "hardtanh"}, looped, np.sign(X), [0.0, 1.0, 1.0, 0.0]),
}


def save(path, rules, f):
    model = Model(f)
    with surrogate.use("tensorflow", rules):
        tensorflow_modes.eager(model.f, tf.constant(X))
        tf.saved_model.save(model, str(path), signatures=model.serve)
    return model


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Models saved under an override: name -> path."""
    paths = {name: tmp_path_factory.mktemp("model") for name in [*SAVED, "unregistered"]}
    for name, (rules, f, *_) in SAVED.items():
        save(paths[name], rules, f)
    save(paths["unregistered"], {"sign": lambda xp, x: 3.0}, tf.sign)
    return {name: str(path) for name, path in paths.items()}


@pytest.fixture(scope="module")
def with_us(saved):
    return fresh(saved, imports="import surrogate; surrogate.load_backend('tensorflow')")


@pytest.fixture(scope="module")
def without_us(saved):
    return fresh(saved, gradient=False)


@pytest.mark.parametrize("how", ["outer", "inner", "signature"])
@pytest.mark.parametrize("name", SAVED)
def test_the_gradient_is_kept_in_a_fresh_process_that_imports_us(name, how, with_us):
    np.testing.assert_allclose(with_us[name][how], SAVED[name][3], rtol=1e-6)


@pytest.mark.parametrize("name", SAVED)
def test_the_forward_needs_nobody(name, with_us, without_us):
    value = np.asarray(SAVED[name][2], np.float32)
    np.testing.assert_array_equal(without_us[name]["y"], value)
    np.testing.assert_array_equal(with_us[name]["y"], value)


def test_a_gradient_that_was_never_registered_says_so(with_us):
    assert with_us["unregistered"]["y"] == list(np.sign(X))
    assert re.match(r"SpecError: .*cannot be had here", with_us["unregistered"]["outer"])


def test_loaded_in_this_process(tmp_path, x):
    rules, f, _, slope = SAVED["sign"]
    save(tmp_path, rules, f)
    loaded = tf.saved_model.load(str(tmp_path))
    np.testing.assert_array_equal(tensorflow_modes.eager(loaded.f, x), slope)
    np.testing.assert_array_equal(tensorflow_modes.inner(loaded.f, x), slope)


def test_a_classic_gradient_is_kept_by_name(tmp_path, x):
    from surrogate_tensorflow import gradient_override_map

    tf.RegisterGradient("SavedDouble")(lambda op, grad: 2.0 * grad * tf.ones_like(op.inputs[0]))
    model = Model(tf.sign)
    with gradient_override_map({"Sign": "SavedDouble"}):
        tensorflow_modes.eager(model.f, x)
        tf.saved_model.save(model, str(tmp_path), signatures=model.serve)
    loaded = tf.saved_model.load(str(tmp_path))
    np.testing.assert_array_equal(tensorflow_modes.eager(loaded.f, x), [2.0] * 4)


def test_a_changed_formula_warns():
    from surrogate_tensorflow import _names

    name = _names.name_of(surrogate.gradient("sign", "hardtanh(width=7)").rule)
    other = name.replace(name.split("/")[1], "0" * 12)
    with pytest.warns(surrogate.SurrogateWarning, match="another one then"):
        assert _names.rule_of(other) is surrogate.gradient("sign", "hardtanh(width=7)").rule


CALLS = {
    "method": lambda m, x: m.f(x),
    "signature": lambda m, x: m.signatures["serving_default"](x)["y"],
    "inside a function": lambda m, x: tf.function(lambda x: m.f(x))(x),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_model_loaded_before_warns_inside_an_override(call, tmp_path, x):
    model = Model(tf.sign)
    tf.saved_model.save(model, str(tmp_path), signatures=model.serve)
    loaded = tf.saved_model.load(str(tmp_path))
    with surrogate.override("tensorflow", {"sign": "hardtanh"}):
        with pytest.warns(surrogate.SurrogateWarning, match=r"loaded SavedModel.*sign"):
            found = tensorflow_modes.eager(lambda x: CALLS[call](loaded, x), x)
        tensorflow_modes.eager(tf.sign, x)
    np.testing.assert_array_equal(found, [0.0] * 4)


def test_a_model_loaded_inside_an_override_obeys_it(tmp_path, x):
    model = Model(tf.sign)
    tf.saved_model.save(model, str(tmp_path), signatures=model.serve)
    with surrogate.use("tensorflow", {"sign": "hardtanh"}):
        loaded = tf.saved_model.load(str(tmp_path))
        for call in CALLS.values():
            found = tensorflow_modes.eager(lambda x, call=call: call(loaded, x), x)
            np.testing.assert_array_equal(found, [0.0, 1.0, 1.0, 0.0])


@pytest.mark.parametrize("mode", ["outer", "symbolic"])
def test_an_imported_graph_obeys_where_it_is_imported(mode, x):
    with tf.Graph().as_default() as graph:
        tf.sign(tf.compat.v1.placeholder(tf.float32, [4], name="x"), name="y")
    definition = graph.as_graph_def()

    def f(x):
        return tf.graph_util.import_graph_def(definition, {"x:0": x}, ["y:0"])[0]

    run = tensorflow_modes.ALL[mode]
    with surrogate.override("tensorflow", {"sign": "hardtanh"}):
        np.testing.assert_array_equal(run(f, x), [0.0, 1.0, 1.0, 0.0])
    np.testing.assert_array_equal(run(f, x), [0.0] * 4)
