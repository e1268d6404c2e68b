"""SavedModels, in this process and in fresh ones."""

import json
import os
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
loaded = tf.saved_model.load({path!r})
x = tf.constant({x})
found = {{"y": loaded.f(x).numpy().tolist()}}
def outer(f):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x).numpy().tolist()
if {gradient}:
    found["outer"] = outer(loaded.f)
    found["inner"] = outer(tf.function(lambda x: loaded.f(x)))
    found["signature"] = outer(lambda x: loaded.signatures["serving_default"](x)["y"])
print(json.dumps(found))
"""


def fresh(path, *, imports="", gradient=True):
    code = FRESH.format(path=str(path), x=X, imports=imports, gradient=gradient)
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


@pytest.mark.parametrize("name", SAVED)
def test_kept_in_a_fresh_process_that_imports_us(name, tmp_path):
    rules, f, value, slope = SAVED[name]
    save(tmp_path, rules, f)
    found = fresh(tmp_path, imports="import surrogate; surrogate.load_backend('tensorflow')")
    np.testing.assert_array_equal(found["y"], np.asarray(value, np.float32))
    for how in ("outer", "inner", "signature"):
        np.testing.assert_allclose(found[how], slope, rtol=1e-6)


def test_the_forward_needs_nobody(tmp_path):
    rules, f, value, _ = SAVED["sign"]
    save(tmp_path, rules, f)
    assert fresh(tmp_path, gradient=False) == {"y": list(value)}


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


def test_an_unknown_gradient_says_so(tmp_path, x):
    with surrogate.override("tensorflow", {"sign": lambda xp, x: 3.0}):
        model = Model(tf.sign)
        tensorflow_modes.eager(model.f, x)
        tf.saved_model.save(model, str(tmp_path), signatures=model.serve)
    code = "import surrogate; surrogate.load_backend('tensorflow')"
    with pytest.raises(AssertionError, match=r"(?s)SpecError.*cannot be had here"):
        fresh(tmp_path, imports=code)
    assert fresh(tmp_path, imports=code, gradient=False)["y"] == list(np.sign(X))


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
