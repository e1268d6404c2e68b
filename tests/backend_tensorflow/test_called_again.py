"""What compiled code captured is told when it is called: per op, per function, in every block."""

import warnings

import pytest
import tensorflow as tf

import surrogate

RULES = {"round": "identity", "floor": "identity"}


def rounded(x):
    return tf.round(x)


def floored(x):
    return tf.floor(x)


def doubled(x):
    return 2 * x


def compiled(f):
    return tf.function(f)


def slope(f):
    x = tf.constant(1.3)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    found = tape.gradient(y, x)
    return 0.0 if found is None else float(found)


def block(run):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", surrogate.NothingCapturedWarning)
        with surrogate.override("tensorflow", RULES) as inside:
            run()
    said = [w for w in caught if w.category is surrogate.NothingCapturedWarning]
    return dict(inside.hits), bool(said)


@pytest.mark.parametrize("again", [1, 2])
def test_each_block_knows_what_its_compiled_functions_captured(again):
    rounds, floors, neither = compiled(rounded), compiled(floored), compiled(doubled)
    for _ in range(1 + again):
        assert block(lambda: slope(rounds)) == ({"round": 1, "floor": 0}, False)
        assert block(lambda: slope(neither)) == ({"round": 0, "floor": 0}, True)
        assert block(lambda: slope(floors)) == ({"round": 0, "floor": 1}, False)
        assert block(lambda: (slope(rounds), slope(floors)))[0] == {"round": 1, "floor": 1}


def test_another_gradient_is_not_told_of():
    rounds = compiled(rounded)
    assert block(lambda: slope(rounds))[1] is False
    with (
        pytest.warns(surrogate.NothingCapturedWarning),
        surrogate.override("tensorflow", {"floor": "identity"}),
    ):
        slope(rounds)
    with surrogate.override("tensorflow", {"round": "zero"}) as other:
        assert slope(rounds) == 0.0
    assert other.hits["round"] >= 1


def test_use_is_told_too():
    rounds = compiled(rounded)
    for _ in range(2):
        with surrogate.use("tensorflow", RULES) as handle:
            assert slope(rounds) == 1.0
        assert handle.hits["round"] == 1


def test_a_function_that_is_called_in_another():
    inner = compiled(rounded)
    outer = compiled(lambda x: inner(x) * 3.0)
    for _ in range(2):
        assert block(lambda: slope(outer)) == ({"round": 1, "floor": 0}, False)
        assert block(lambda: slope(inner)) == ({"round": 1, "floor": 0}, False)


def test_fit_of_one_model_says_nothing_of_another():
    class Act(tf.keras.layers.Layer):
        def call(self, x):
            return tf.keras.ops.round(x)

    def model(*layers):
        made = tf.keras.Sequential([tf.keras.layers.Dense(2), *layers, tf.keras.layers.Dense(1)])
        made.compile("sgd", "mse")
        return made

    x, y = tf.ones((4, 2)), tf.ones((4, 1))
    first, second = model(Act()), model()
    for _ in range(2):
        hits, said = block(lambda: first.fit(x, y, verbose=0))
        assert hits["round"] >= 1
        assert not said
        assert block(lambda: second.fit(x, y, verbose=0)) == ({"round": 0, "floor": 0}, True)


def quantised(x):
    return tf.stop_gradient(tf.round(x))


OTHERS = {
    "a whole function": ({quantised: "identity"}, lambda x: 3.0 * quantised(x), 3.0),
    "a native op type": ({"Sin": lambda call, g: 5.0 * g}, lambda x: tf.sin(x) * 2.0, 10.0),
}


@pytest.mark.parametrize("what", OTHERS)
def test_functions_and_native_op_types_are_told_too(what):
    rules, f, through = OTHERS[what]
    run, neither = tf.function(f), tf.function(lambda x: 2.0 * x)
    for _ in range(3):
        with surrogate.override("tensorflow", rules) as inside:
            assert slope(run) == through
        assert list(inside.hits.values()) == [1]
        with pytest.warns(surrogate.NothingCapturedWarning), surrogate.override("tensorflow", rules):
            assert slope(neither) == 2.0
