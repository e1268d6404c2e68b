"""Compiled functions are never stale, decisions are made at forward time."""

import random
import threading

import keras
import pytest
import surrogate_tensorflow
import tensorflow as tf
import tensorflow_modes

import surrogate

WINDOW, ZERO = [0.0, 1.0, 1.0, 0.0], [0.0] * 4


def override(spec="hardtanh", op="sign"):
    return surrogate.override("tensorflow", {op: spec})


def slope(f, x):
    return tensorflow_modes.eager(f, x).numpy().tolist()


@pytest.mark.parametrize("options", [{}, {"jit_compile": True}, {"reduce_retracing": True}], ids=str)
def test_off_on_off_on(options, x):
    f = tf.function(tf.sign, **options)
    found = [slope(f, x)]
    with override():
        found.append(slope(f, x))
    found.append(slope(f, x))
    with override():
        found.append(slope(f, x))
    assert found == [ZERO, WINDOW, ZERO, WINDOW]
    assert f.experimental_get_tracing_count() == 2


def test_an_inner_function_follows_too(x):
    inside = tf.function(tf.sign)
    f = tf.function(lambda x: inside(x))
    found = [slope(f, x)]
    with override():
        found.append(slope(f, x))
    found.append(slope(f, x))
    assert found == [ZERO, WINDOW, ZERO]


def test_input_signature_and_methods(x):
    class Model:
        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def call(self, x):
            return tf.sign(x)

    model = Model()
    found = [slope(model.call, x)]
    with override():
        found.append(slope(model.call, x))
    found.append(slope(model.call, x))
    assert found == [ZERO, WINDOW, ZERO]


def test_a_function_that_makes_variables(x):
    class Model:
        v = None

        @tf.function
        def call(self, x):
            if self.v is None:
                self.v = tf.Variable(2.0)
            return self.v * tf.sign(x)

    model = Model()
    with override():
        assert slope(model.call, x) == [0.0, 2.0, 2.0, 0.0]
    assert slope(model.call, x) == ZERO


def test_equal_rules_share_a_trace(x):
    f = tf.function(tf.sign)
    for spec in ("hardtanh", "hardtanh(width=1)", surrogate.gradient("sign", "hardtanh"), "hardtanh"):
        with override(spec):
            slope(f, x)
    assert f.experimental_get_tracing_count() == 1


def test_a_part_of_a_function(x):
    @tf.function
    def f(x):
        y = tf.sign(x)
        with override("identity"):
            return y + 2.0 * tf.sign(x)

    assert slope(f, x) == [2.0] * 4


def test_a_concrete_function_keeps_the_decision_of_its_trace(x):
    with override():
        on = tf.function(tf.sign).get_concrete_function(x)
    off = tf.function(tf.sign).get_concrete_function(x)
    assert slope(on, x) == WINDOW
    with override():
        assert slope(on, x) == WINDOW
        tensorflow_modes.eager(tf.sign, x)
        with pytest.warns(surrogate.SurrogateWarning, match=r"concrete function.*override of sign"):
            assert slope(off, x) == ZERO
    with override("identity"):
        tensorflow_modes.eager(tf.sign, x)
        with pytest.warns(surrogate.SurrogateWarning, match=r"concrete function.*override of sign"):
            assert slope(on, x) == WINDOW


def test_a_concrete_function_warns_under_an_override_map(x):
    f = tf.function(tf.sign).get_concrete_function(x)
    with (
        surrogate_tensorflow.gradient_override_map({"Sign": "Identity"}),
        pytest.warns(surrogate.SurrogateWarning, match=r"concrete function.*override of Sign"),
    ):
        assert slope(f, x) == ZERO


def test_a_concrete_function_of_integers_is_not_warned_of(x):
    f = tf.function(lambda x: x * tf.cast(tf.size(x) % 3, x.dtype)).get_concrete_function(x)
    with override(op="mod", spec="exact"):
        tensorflow_modes.eager(lambda x: x % 2.0, x)
        assert slope(f, x) == [1.0] * 4


def test_a_concrete_function_of_native_composites_is_not_warned_of(x):
    with override(op="abs", spec="sign0"):
        tensorflow_modes.eager(tf.abs, x)
        loss = tf.function(lambda x: keras.losses.mean_absolute_error(0.0 * x, x)).get_concrete_function(x)
        assert slope(loss, x) == [-0.25, -0.25, 0.25, 0.25]


@pytest.mark.parametrize("f", [tf.sign, tf.function(tf.sign)], ids=["eager", "function"])
def test_the_forward_decides(f, x):
    with override():
        with tf.GradientTape(persistent=True) as inside:
            inside.watch(x)
            y = f(x)
    assert inside.gradient(y, x).numpy().tolist() == WINDOW
    assert tf.linalg.diag_part(inside.jacobian(y, x)).numpy().tolist() == WINDOW
    with tf.GradientTape() as outside:
        outside.watch(x)
        y = f(x)
    with surrogate.override("tensorflow", {"sign": "hardtanh"}):
        assert outside.gradient(y, x).numpy().tolist() == ZERO
        slope(tf.sign, x)


def test_backward_in_another_thread(x):
    found = []
    with override():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sign(x)
    thread = threading.Thread(target=lambda: found.append(tape.gradient(y, x).numpy().tolist()))
    thread.start()
    thread.join()
    assert found == [WINDOW]


def test_other_custom_gradients_are_untouched(x):
    @tf.custom_gradient
    def mine(x):
        return tf.sign(x), lambda g: 7.0 * g

    with override():
        assert slope(mine, x) == [7.0] * 4
        assert slope(tf.function(mine), x) == [7.0] * 4
        assert slope(lambda x: mine(x) + tf.sign(x), x) == [7.0, 8.0, 8.0, 7.0]


def test_threads_with_rules_of_their_own_share_a_function(x):
    """8 threads, 120 rounds: no wrong gradient, as many traces as there are rules."""
    f = tf.function(lambda x: tf.sign(x), reduce_retracing=True)
    widths = (0.25, 0.75, 1.0, 2.5, 4.0, None)
    want = {w: [0.0 if w is None else float(abs(v) <= w) for v in x.numpy()] for w in widths}
    wrong = []

    def work(seed):
        chance = random.Random(seed)
        for _ in range(120):
            width = chance.choice(widths)
            g = f if chance.random() < 0.5 else tf.sign
            with tf.GradientTape() as tape:
                tape.watch(x)
                if width is None:
                    y = g(x)
                else:
                    with override(f"hardtanh(width={width})"):
                        y = g(x)
            found = tape.gradient(y, x).numpy().tolist()
            if found != want[width]:
                wrong.append((width, found))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert f.experimental_get_tracing_count() == len(widths)


def test_a_decorated_function_is_read_by_autograph(capfd):
    @surrogate.override("tensorflow", {"sign": "hardtanh"})
    def decorated(x):
        if tf.reduce_sum(x) > 0.0:  # only autograph makes a branch of the graph of it
            return tf.sign(x)
        return 2.0 * tf.sign(x)

    @tf.function
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = decorated(x)
        return tape.gradient(y, x)

    assert slope(tf.constant([0.5, 3.0])).numpy().tolist() == [1.0, 0.0]
    assert slope(tf.constant([0.5, -3.0])).numpy().tolist() == [2.0, 0.0]
    assert "AutoGraph could not transform" not in capfd.readouterr().err
