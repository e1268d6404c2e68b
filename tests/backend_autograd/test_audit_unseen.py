"""The audit on programs whose author had not read its rules, and on the kinds of faults that they showed."""

import autograd.numpy as anp
import numpy as np
import pytest
from autograd_unseen import CLEAN, PLANTED
from planted import plant

import surrogate

W = np.array([[0.1, 0.5, -0.3], [0.2, 1.0, 0.4]])


@pytest.mark.filterwarnings("ignore")  # frameworks warn of some of these faults
@pytest.mark.parametrize("build", PLANTED, ids=lambda build: build.__name__)
def test_the_planted_line_is_named_and_no_other(build):
    program, args, options = build()
    report = surrogate.audit("autograd", program, *args, **options)
    assert plant(build).found(report), str(report)
    assert {f.kind for f in plant(build).others(report)} <= {*plant(build).kinds}, str(report)


@pytest.mark.parametrize("build", CLEAN, ids=lambda build: build.__name__)
def test_a_sound_program_has_no_finding(build):
    program, args, options = build()
    report = surrogate.audit("autograd", program, *args, **options)
    assert not report.shown(), str(report)
    assert not report.unreached


def _softmax(w):
    e = anp.exp(w - anp.max(w, axis=-1, keepdims=True))
    return e / anp.sum(e, axis=-1, keepdims=True)


def of_a_softmax_by_hand(w):
    return anp.mean(anp.log(_softmax(w)))


def of_a_class_of_it(w):
    return -anp.mean(anp.log(_softmax(w)[:, 1]))


def of_a_sigmoid_by_hand(w):
    return anp.mean(anp.log(1.0 / (1.0 + anp.exp(-w))))


def of_a_sigmoid_by_a_quotient(w):
    return anp.mean(anp.log(anp.exp(w) / (1.0 + anp.exp(w))))


def of_one_less(w):
    return anp.mean(anp.log(1.0 - 1.0 / (1.0 + anp.exp(-w))))


def of_one_less_a_softmax(w):
    return anp.mean(anp.log(1 - _softmax(w)))


def by_log1p(w):
    return anp.mean(anp.log1p(-(1.0 / (1.0 + anp.exp(-w)))))


LOGARITHMS = [
    of_a_softmax_by_hand, of_a_class_of_it, of_a_sigmoid_by_hand, of_a_sigmoid_by_a_quotient, of_one_less,
    of_one_less_a_softmax, by_log1p,
]  # fmt: skip


@pytest.mark.parametrize("program", LOGARITHMS, ids=lambda program: program.__name__)
def test_a_logarithm_of_a_probability_is_unstable(program):
    found = {f.where.line: f.op for f in surrogate.audit("autograd", program, W).shown() if f.op != "exp"}
    op = "log1p" if program is by_log1p else "log"
    assert found == {program.__code__.co_firstlineno + 1: op}


def test_a_logarithm_with_an_epsilon_is_sound():
    def loss(w):
        return anp.mean(anp.log(1.0 - _softmax(w) + 1e-6) + anp.log(_softmax(w) + 1e-6))

    assert surrogate.audit("autograd", loss, W).ok()


def test_a_loop_without_a_layer_explodes_or_vanishes():
    def growing(x):
        for _ in range(24):
            x = 3.0 * x
        return x

    def fading(x):
        for _ in range(24):
            x = anp.tanh(0.2 * x)
        return anp.mean(x)

    def average(x):
        mean = x
        for _ in range(24):
            mean = 0.5 * mean + 0.5 * x * x
        return anp.mean(mean)

    one = 1.0
    found = [
        [f.kind for f in surrogate.audit("autograd", p, one).shown()] for p in (growing, fading, average)
    ]
    assert found == [["exploding"], ["vanishing"], []]


def test_a_program_that_returns_nothing_is_refused():
    with pytest.raises(surrogate.SpecError, match="returns no array"):
        surrogate.audit("autograd", lambda w: None, np.ones(3))


def test_wrt_is_arrays_names_or_a_mapping():
    params = {"a": np.ones(3), "b": np.ones(3)}

    def loss(x, p):
        return anp.sum(p["a"] * p["b"] * x)

    b = params["b"]
    for wrt, name in ((b, "b"), ([b], "b"), ({"mine": b}, "mine")):
        assert list(surrogate.audit("autograd", loss, np.ones(3), params, wrt=wrt).gradients) == [name]
    by_name = surrogate.audit("autograd", loss, np.ones(3), params, wrt="b", argnums=1)
    assert list(by_name.gradients) == ["b"]
    with pytest.raises(surrogate.SpecError, match="no 'c'"):
        surrogate.audit("autograd", loss, np.ones(3), params, wrt="c", argnums=1)
