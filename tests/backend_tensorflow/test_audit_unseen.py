"""The audit on programs whose author had not read its rules, and on the kinds of faults that they showed."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from planted import plant
from tensorflow_unseen import CLEAN, PLANTED

import surrogate

W = tf.constant([[0.1, 0.5, -0.3], [0.2, 1.0, 0.4]])


@pytest.fixture(autouse=True)
def seeded():
    keras.utils.set_random_seed(0)


@pytest.mark.filterwarnings("ignore")  # frameworks warn of some of these faults
@pytest.mark.parametrize("build", PLANTED, ids=lambda build: build.__name__)
def test_the_planted_line_is_named_and_no_other(build):
    program, args, options = build()
    report = surrogate.audit("tensorflow", program, *args, **options)
    assert plant(build).found(report), str(report)
    assert {f.kind for f in plant(build).others(report)} <= {*plant(build).kinds}, str(report)


@pytest.mark.parametrize("build", CLEAN, ids=lambda build: build.__name__)
def test_a_sound_program_has_no_finding(build):
    program, args, options = build()
    report = surrogate.audit("tensorflow", program, *args, **options)
    assert not report.shown(), str(report)
    assert not report.unreached


def _softmax(w):
    e = tf.exp(w - tf.reduce_max(w, -1, keepdims=True))
    return e / tf.reduce_sum(e, -1, keepdims=True)


def of_a_softmax_by_hand(w):
    return tf.reduce_mean(tf.math.log(_softmax(w)))


def of_a_class_of_it(w):
    return -tf.reduce_mean(tf.math.log(_softmax(w)[:, 1]))


def of_a_sigmoid_by_hand(w):
    return tf.reduce_mean(tf.math.log(1.0 / (1.0 + tf.exp(-w))))


def of_a_sigmoid_by_a_quotient(w):
    return tf.reduce_mean(tf.math.log(tf.exp(w) / (1.0 + tf.exp(w))))


def of_one_less(w):
    return tf.reduce_mean(tf.math.log(1.0 - tf.sigmoid(w)))


def of_one_less_a_softmax(w):
    return tf.reduce_mean(tf.math.log(1 - _softmax(w)))


def by_log1p(w):
    return tf.reduce_mean(tf.math.log1p(-(tf.sigmoid(w))))


LOGARITHMS = [
    of_a_softmax_by_hand, of_a_class_of_it, of_a_sigmoid_by_hand, of_a_sigmoid_by_a_quotient, of_one_less,
    of_one_less_a_softmax, by_log1p,
]  # fmt: skip


@pytest.mark.parametrize("program", LOGARITHMS, ids=lambda program: program.__name__)
def test_a_logarithm_of_a_probability_is_unstable(program):
    found = {f.where.line: f.op for f in surrogate.audit("tensorflow", program, W).shown() if f.op != "exp"}
    op = "log1p" if program is by_log1p else "log"
    assert found == {program.__code__.co_firstlineno + 1: op}


def test_a_logarithm_with_an_epsilon_is_sound():
    def loss(w):
        return tf.reduce_mean(tf.math.log(1.0 - _softmax(w) + 1e-6) + tf.math.log(_softmax(w) + 1e-6))

    assert surrogate.audit("tensorflow", loss, W).ok()


def test_a_loop_without_a_layer_explodes_or_vanishes():
    def growing(x):
        for _ in range(24):
            x = 3.0 * x
        return x

    def fading(x):
        for _ in range(24):
            x = tf.tanh(0.2 * x)
        return tf.reduce_mean(x)

    def average(x):
        mean = x
        for _ in range(24):
            mean = 0.5 * mean + 0.5 * x * x
        return tf.reduce_mean(mean)

    one = tf.constant(1.0)
    found = [
        [f.kind for f in surrogate.audit("tensorflow", p, one).shown()] for p in (growing, fading, average)
    ]
    assert found == [["exploding"], ["vanishing"], []]


@pytest.mark.filterwarnings("ignore:Gradients do not exist")  # of Keras, and true
def test_fit_leaves_the_model_as_it_was():
    train, _, _ = PLANTED[-1]()
    (model,) = (c.cell_contents for c in train.__closure__ if isinstance(c.cell_contents, keras.Model))
    before = [value.copy() for value in model.get_weights()]
    report = surrogate.audit("tensorflow", train)
    assert all((a == b).all() for a, b in zip(before, model.get_weights(), strict=True))
    assert int(model.optimizer.iterations) == 0
    assert str(surrogate.audit("tensorflow", train)) == str(report)
    assert np.isfinite(train().history["loss"]).all()
    assert int(model.optimizer.iterations) == 2


def test_a_model_that_is_built_by_its_audit_keeps_its_weights():
    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self.main, self.skip = keras.layers.Dense(5), keras.layers.Dense(5)
            self.skip.build((None, 5))

        def call(self, x):
            return tf.round(self.main(x))

    model, x = Net(), tf.random.normal([4, 5])
    first, second = (surrogate.audit("tensorflow", model, x) for _ in range(2))
    assert model.main.kernel.shape == model.main.kernel.numpy().shape == (5, 5)
    assert first.findings == second.findings
    assert sorted(first.unreached.values()) == ["cut", "cut", "unused", "unused"]


def test_a_program_with_nothing_to_differentiate_is_refused():
    w = tf.Variable(tf.ones(3))
    with pytest.raises(surrogate.SpecError, match="returns no array and asks for no gradient"):
        surrogate.audit("tensorflow", lambda: print(tf.reduce_sum(w)))


def test_wrt_is_arrays_names_or_a_mapping():
    a, b = tf.Variable(tf.ones(3), name="a"), tf.Variable(tf.ones(3), name="b")

    def loss(x):
        return tf.reduce_sum(a * b * x)

    for wrt, name in ((b, "b"), ([b], "b"), ("b", "b"), ({"mine": b}, "mine")):
        assert list(surrogate.audit("tensorflow", loss, tf.ones(3), wrt=wrt).gradients) == [name]
    with pytest.raises(surrogate.SpecError, match="no 'c'"):
        surrogate.audit("tensorflow", loss, tf.ones(3), wrt="c")
