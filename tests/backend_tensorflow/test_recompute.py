"""What a backward runs again (tf.recompute_grad, keras.remat) obeys what the forward did."""

import subprocess
import sys

import keras
import pytest
import tensorflow as tf

import surrogate

WRAPS = {"recompute_grad": tf.recompute_grad}
if hasattr(keras, "remat"):  # Keras 3.6 has none
    WRAPS["remat"] = keras.remat

FUNCTION = pytest.mark.parametrize("function", [False, True], ids=["eager", "function"])


def override(op="sign", spec="hardtanh"):
    return surrogate.override("tensorflow", {op: spec})


def forward(f, x):
    """A tape that has recorded ``f(x)``, and the value."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        return tape, f(x)


def slopes(tape, y, x):
    return tape.gradient(y, x).numpy().tolist()


# of sign alone TensorFlow's own recompute_grad makes None, and fails
@pytest.mark.parametrize("wrap", WRAPS)
@FUNCTION
def test_recomputation_obeys_what_the_forward_did(wrap, function, x):
    f = WRAPS[wrap](lambda x: tf.sign(x) + x)
    f = tf.function(f) if function else f
    with override():
        tape, y = forward(f, x)
        forward(tf.sign, x)  # an override that captured nothing warns
    assert slopes(tape, y, x) == [1.0, 2.0, 2.0, 1.0]
    tape, y = forward(f, x)
    with override() as inside:
        assert slopes(tape, y, x) == [1.0] * 4
        forward(tf.sign, x)
    assert inside.hits["sign"] == 1


# eagerly it meets the op in the backward only, and so warns: docs/limits.md
@pytest.mark.filterwarnings("ignore::surrogate.NothingCapturedWarning")
@FUNCTION
def test_an_override_inside_counts_when_it_is_entered_again(function, x):
    def inside(x):
        with override():
            return tf.sign(x) + x

    f = tf.recompute_grad(inside)
    tape, y = forward(tf.function(f) if function else f, x)
    with override("round", "identity"):
        assert slopes(tape, y, x) == [1.0, 2.0, 2.0, 1.0]
        forward(tf.round, x)


BEFORE = """
import tensorflow as tf, surrogate

inner = tf.recompute_grad(lambda x: tf.sign(x) + x)
FORWARDS = {
    "eager": inner,
    "nested": tf.recompute_grad(lambda x: inner(x) + x),
    "function": tf.function(inner),
    "custom": tf.custom_gradient(lambda x: (tf.sign(x), lambda g: g * slope_of_sign(x))),
}

def slope_of_sign(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.sign(x) + x
    return tape.gradient(y, x)

x = tf.constant([-2.0, 0.5])

def forwards():
    for f in FORWARDS.values():
        with tf.GradientTape() as tape:
            tape.watch(x)
            yield tape, f(x)

def slopes(done):
    return dict(zip(FORWARDS, (tape.gradient(y, x).numpy().tolist() for tape, y in done)))

before = list(forwards())
rules = {"sign": "identity"}
%s
    assert slopes(before) == {"eager": [1, 1], "nested": [2, 2], "function": [1, 1], "custom": [1, 1]}
    after = slopes(forwards())
    assert after == {"eager": [2, 2], "nested": [3, 3], "function": [2, 2], "custom": [2, 2]}, after
"""


@pytest.mark.parametrize("verb", ["override", "use"])
def test_a_forward_before_the_backend_was_loaded_runs_again_without_rules(verb):
    code = BEFORE % f'with surrogate.{verb}("tensorflow", rules):'
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]


def test_a_gradient_inside_an_override_leaves_the_hooks_in(x, monkeypatch):
    backend = surrogate.load_backend("tensorflow")
    with override():
        tape, y = forward(tf.sign, x)
        switched = []
        monkeypatch.setattr(backend, "_switch", switched.append)
        assert slopes(tape, y, x) == [0.0, 1.0, 1.0, 0.0]
        assert switched == []
        monkeypatch.undo()
