"""The audit on programs whose author had not read its rules, and on the kinds of faults that they showed."""

from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow_unseen import CLEAN, PLANTED
from unseen import Cases, has_no_finding, names_the_planted_line_and_no_other

import surrogate


@pytest.fixture(autouse=True)
def seeded():
    keras.utils.set_random_seed(0)


@pytest.mark.filterwarnings("ignore")  # frameworks warn of some of these faults
@pytest.mark.parametrize("build", PLANTED, ids=lambda build: build.__name__)
def test_the_planted_line_is_named_and_no_other(build):
    names_the_planted_line_and_no_other("tensorflow", build)


@pytest.mark.parametrize("build", CLEAN, ids=lambda build: build.__name__)
def test_a_sound_program_has_no_finding(build):
    has_no_finding("tensorflow", build)


class TestKinds(Cases):
    backend = "tensorflow"
    F = SimpleNamespace(
        array=tf.constant,
        exp=tf.exp,
        log=tf.math.log,
        log1p=tf.math.log1p,
        tanh=tf.tanh,
        sigmoid=tf.sigmoid,
        mean=tf.reduce_mean,
        top=lambda w: tf.reduce_max(w, -1, keepdims=True),
        total=lambda e: tf.reduce_sum(e, -1, keepdims=True),
    )


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
