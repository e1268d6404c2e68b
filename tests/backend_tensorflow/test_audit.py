"""The audit of TensorFlow programs: every way to lose a gradient with its line, and sound idioms."""

import contextlib
import inspect
import re

import keras
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_audit
from tensorflow_audit import FAULTY, SOUND
from tensorflow_audit_later import CLEAN, PLANTED, R

import surrogate

W = np.linspace(-1.45, 2.0, 12, dtype=np.float32)


def marks(program):
    """Line -> kind and ops of the comments ``#! kind:op|op``."""
    lines, first = inspect.getsourcelines(getattr(program, "python_function", program))
    found = (re.search(r"#! (\w+):([\w|]+)", line) for line in lines)
    return {first + n: mark.groups() for n, mark in enumerate(found) if mark}


def named(report, level="warning"):
    return {f.where.line: (f.kind, f.op) for f in report.findings if f.at_least(level)}


def ids(program):
    return getattr(program, "python_function", program).__name__


@pytest.mark.parametrize("program", FAULTY, ids=ids)
def test_fault_is_named_with_its_line(program):
    report = surrogate.audit("tensorflow", program, tf.constant(W))
    wanted, got = marks(program), named(report)
    assert got.keys() == wanted.keys(), str(report)
    for line, (kind, ops) in wanted.items():
        assert got[line][0] == kind, str(report)
        assert got[line][1] in ops.split("|"), str(report)
    assert all(f.where.file == tensorflow_audit.__file__ for f in report.findings)


@pytest.mark.parametrize("program", SOUND, ids=ids)
def test_sound_idiom_is_not_accused(program):
    report = surrogate.audit("tensorflow", program, tf.constant(W))
    assert not named(report), str(report)
    assert report.reached == 1


@pytest.mark.parametrize("program", PLANTED + CLEAN, ids=lambda p: p.__name__)
def test_program_that_was_not_tuned_on(program):
    R.seed(3)  # the same numbers whichever tests ran before
    loss, args = program()
    report = surrogate.audit("tensorflow", loss, *args)
    wanted, got = marks(program), named(report)
    assert got.keys() == wanted.keys(), str(report)
    for line, (kinds, ops) in wanted.items():
        assert got[line][0] == kinds, str(report)
        assert got[line][1] in ops.split("|"), str(report)


# -- Keras -------------------------------------------------------------------------------------------


class Steps(keras.layers.Layer):
    """A layer that rounds; the marked line is at fault."""

    def call(self, x):
        return keras.ops.ceil(x * 4) / 4  #! zero:ceil


@pytest.fixture
def stepped():
    keras.utils.set_random_seed(0)
    return keras.Sequential(
        [keras.Input((3,)), keras.layers.Dense(5, name="first"), Steps(), keras.layers.Dense(1, name="last")],
        name="sequential",
    )


def test_a_keras_model_and_the_paths_of_its_variables(stepped):
    x = tf.constant(np.random.RandomState(0).randn(4, 3), tf.float32)
    report = surrogate.audit("tensorflow", stepped, x, loss=lambda y: tf.reduce_mean(y**2))
    assert named(report) == dict.fromkeys(marks(Steps), ("zero", "ceil"))
    assert report.unreached == {f"sequential/first/{name}": "cut" for name in ("kernel", "bias")}
    assert report.suggest() == {"ceil": "identity"}
    assert report.verify().reached == 4


def test_variables_and_seeds_are_as_they_were():
    keras.utils.set_random_seed(0)
    dropout, norm = keras.layers.Dropout(0.5), keras.layers.BatchNormalization()
    net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4), norm, dropout])
    x = tf.random.normal((8, 3))

    def state():
        return [v.numpy() for v in (*net.variables, *dropout.variables)]

    def loss(x):
        return tf.reduce_mean(net(x, training=True) ** 2)

    before = state()
    first = surrogate.audit("tensorflow", loss, x)
    assert all(map(np.array_equal, state(), before))
    assert surrogate.audit("tensorflow", loss, x).to_json() == first.to_json()
    assert first.ok()


def test_random_state_of_tensorflow_is_as_it_was():
    def noisy(w):
        return tf.reduce_sum(w * tf.random.normal((12,)))

    def drawn(audited):
        tf.random.set_seed(3)
        if audited:
            surrogate.audit("tensorflow", noisy, tf.constant(W))
        return tf.random.normal((4,)).numpy(), np.random.get_state()[1].copy()

    for one, two in zip(drawn(True), drawn(False), strict=True):
        np.testing.assert_array_equal(one, two)


def test_variables_that_the_program_writes_are_as_they_were():
    v, count = tf.Variable(tf.ones(3)), tf.Variable(0, dtype=tf.int64)
    generator = tf.random.Generator.from_seed(1)
    drawn = generator.state.numpy()

    def loss():
        count.assign_add(1)
        total = tf.reduce_sum(v * generator.normal((3,)))
        v.assign(v * 2)
        return total

    report = surrogate.audit("tensorflow", loss)
    assert (count.numpy(), v.numpy().tolist()) == (0, [1.0, 1.0, 1.0])
    np.testing.assert_array_equal(generator.state.numpy(), drawn)
    assert report.reached == 1


@pytest.mark.parametrize("fails", ["forward", "backward"])
def test_nothing_stays_swapped_after_an_error(fails):
    from surrogate_tensorflow import _hooks

    @tf.custom_gradient
    def broken(x):
        def back(g):
            raise KeyError("mine")

        return x * 1.0, back

    v = tf.Variable(tf.ones(3))

    def loss():
        v.assign(v * 2)
        if fails == "forward":
            raise KeyError("mine")
        return tf.reduce_sum(broken(v))

    hooks = [h for h in _hooks.HOOKS if h.name != "EagerTensor._numpy"]
    before = [h.now for h in hooks]
    numpy = tf.constant(1.0).numpy.__func__
    with pytest.raises(KeyError, match="mine"):
        surrogate.audit("tensorflow", loss)
    assert [h.now for h in hooks] == before
    assert tf.constant(1.0).numpy.__func__ is numpy
    assert not tf.config.functions_run_eagerly()
    assert v.numpy().tolist() == [1.0, 1.0, 1.0]


def test_sources_by_name_and_by_variable():
    a, b = tf.Variable(tf.ones(3), name="a"), tf.Variable(tf.ones(3), name="b")

    def loss(x):
        return tf.reduce_sum(a * x) + tf.reduce_sum(tf.sign(b))

    x = tf.ones(3)
    assert surrogate.audit("tensorflow", loss, x).unreached == {"b": "cut"}
    assert surrogate.audit("tensorflow", loss, x, wrt=[a]).ok()
    assert surrogate.audit("tensorflow", loss, x, wrt="b").sources == 1
    with pytest.raises(surrogate.SpecError, match="no 'c'; it has a, b, arg0"):
        surrogate.audit("tensorflow", loss, x, wrt="c")


def test_logging_is_told_from_values_that_come_back():
    def logged(w):
        text = f"{float(tf.reduce_sum(w))} {w.numpy().max()}"
        return tf.reduce_sum(w**2) + 0.0 * len(text)

    assert not named(surrogate.audit("tensorflow", logged, tf.constant(W)))


def test_an_op_under_a_rule_is_one_op_at_the_users_line():
    with surrogate.override("tensorflow", {"floor": "identity", "clip": "identity"}):
        trace = surrogate.load_backend("tensorflow").record(
            lambda w: tf.reduce_sum(tf.floor(w) * tf.clip_by_value(w, -1.0, 1.0)), (tf.constant(W),)
        )
    ruled = {call.name: call.rule for call in trace.calls if call.rule}
    assert ruled == {"floor": "floor:identity", "clip": "clip:identity"}
    assert all(call.place.file == __file__ for call in trace.calls)


def test_numbers_are_those_of_the_program():
    trace = surrogate.load_backend("tensorflow").record(
        lambda w: tf.reduce_sum(tf.sqrt(w + 2.0)), (tf.constant(W),)
    )
    size = trace.grads["arg0"]
    assert size.gradient == pytest.approx(np.linalg.norm(0.5 / np.sqrt(W + 2)), rel=1e-5)
    (root,) = (call for call in trace.calls if call.name == "sqrt")
    span = trace.values[root.outs[0]].span
    assert (span.lo, span.hi, span.size) == (pytest.approx(0.55**0.5), 2.0, 12)
    assert root.g_out.lo == root.g_out.hi == 1.0
    assert root.g_in[0].hi == pytest.approx(0.5 / 0.55**0.5)


def test_a_loaded_model_is_one_op(tmp_path):
    module = tf.Module()
    module.w = tf.Variable(W)
    module.call = tf.function(lambda x: tf.round(module.w * x), input_signature=[tf.TensorSpec([12])])
    tf.saved_model.save(module, tmp_path)
    loaded, b = tf.saved_model.load(tmp_path), tf.Variable(1.0)
    report = surrogate.audit("tensorflow", lambda x: tf.reduce_sum(loaded.call(x)) + b**2, tf.ones(12))
    (finding,) = (f for f in report.findings if f.at_least("warning"))
    assert (finding.kind, finding.severity, finding.where.file) == ("zero", "error", __file__)
    assert (report.reached, report.sources) == (1, 2)


# -- a script under watch ----------------------------------------------------------------------------


class Stop(BaseException):
    pass


def watch(script, step=1, go_on=True):
    """The trace of the ``step``-th gradient that a script asks for, and what the script returned."""
    traces, result = [], None

    def caught(trace):
        traces.append(trace)
        if not go_on:
            raise Stop

    with surrogate.load_backend("tensorflow").intercept(caught, step=step):
        with contextlib.suppress(Stop):
            result = script()
    return traces, result


def training():
    w, b = tf.Variable(W, name="w"), tf.Variable(0.0, name="b")

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.floor(w * x) ** 2) + (b + x) ** 2
        gradients = tape.gradient(loss, {"w": w, "b": b})
        b.assign_sub(0.1 * gradients["b"])
        return loss, gradients["b"]

    return [[part.numpy() for part in step(tf.constant(float(n)))] for n in range(3)]


@pytest.mark.parametrize("step", [1, 2])
def test_a_compiled_step_of_a_script(step):
    gradient, wanted = tf.GradientTape.gradient, training()
    (trace,), result = watch(training, step)
    assert sorted(trace.sources.values()) == ["b", "w"]
    assert {call.name for call in trace.calls if call.zero_in} == {"floor"}
    assert trace.grads["w"] is None or trace.grads["w"].zero
    np.testing.assert_allclose(result, wanted, rtol=1e-6)
    assert tf.GradientTape.gradient is gradient
    assert not tf.config.functions_run_eagerly()


@pytest.mark.filterwarnings("ignore:Even though the `tf.config.experimental_run_functions_eagerly`")
@pytest.mark.parametrize("options", [{}, {"jit_compile": True}, {"steps_per_execution": 2}], ids=str)
def test_fit(stepped, options):
    stepped.compile("sgd", "mse", **options)
    x, y = np.ones((8, 3), np.float32), np.ones((8, 1), np.float32)
    (trace,), result = watch(lambda: stepped.fit(x, y, batch_size=4, verbose=0), go_on=False)
    assert result is None
    dead = [call for call in trace.calls if call.zero_in]
    assert [(call.name, call.place.line) for call in dead] == [("ceil", line) for line in marks(Steps)]
    assert sorted(trace.sources.values()) == [
        f"sequential/{layer}/{name}" for layer in ("first", "last") for name in ("bias", "kernel")
    ]
