"""What an audit says of programs whose author had not read its rules, and of the kinds of faults they showed.

A backend's test class says how its framework is written.
"""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from planted import plant

import surrogate


def names_the_planted_line_and_no_other(backend, build):
    program, args, options = build()
    report = surrogate.audit(backend, program, *args, **options)
    assert plant(build).found(report), str(report)
    assert {f.kind for f in plant(build).others(report)} <= {*plant(build).kinds}, str(report)


def has_no_finding(backend, build):
    program, args, options = build()
    report = surrogate.audit(backend, program, *args, **options)
    assert not report.shown(), str(report)
    assert not report.unreached


class Cases:
    """The same programs in every framework.

    Attributes:
        backend: its name.
        F: the framework's ``array``, ``exp``, ``log``, ``log1p``, ``tanh``, ``sigmoid`` and ``mean``, and
            ``top`` and ``total``, the maximum and the sum along the last axis, which stays.
    """

    backend: ClassVar[str]
    F: ClassVar[Any]

    def of_a_softmax_by_hand(self, w):
        return self.F.mean(self.F.log(self._softmax(w)))

    def of_a_class_of_it(self, w):
        return -self.F.mean(self.F.log(self._softmax(w)[:, 1]))

    def of_a_sigmoid_by_hand(self, w):
        return self.F.mean(self.F.log(1.0 / (1.0 + self.F.exp(-w))))

    def of_a_sigmoid_by_a_quotient(self, w):
        return self.F.mean(self.F.log(self.F.exp(w) / (1.0 + self.F.exp(w))))

    def of_one_less(self, w):
        return self.F.mean(self.F.log(1.0 - self.F.sigmoid(w)))

    def of_one_less_a_softmax(self, w):
        return self.F.mean(self.F.log(1 - self._softmax(w)))

    def by_log1p(self, w):
        return self.F.mean(self.F.log1p(-(self.F.sigmoid(w))))

    def _softmax(self, w):
        e = self.F.exp(w - self.F.top(w))
        return e / self.F.total(e)

    def _audit(self, program, value):
        return surrogate.audit(self.backend, program, self.F.array(value))

    @pytest.mark.parametrize(
        ("name", "op"),
        [
            ("of_a_softmax_by_hand", "log"),
            ("of_a_class_of_it", "log"),
            ("of_a_sigmoid_by_hand", "log"),
            ("of_a_sigmoid_by_a_quotient", "log"),
            ("of_one_less", "log"),
            ("of_one_less_a_softmax", "log"),
            ("by_log1p", "log1p"),
        ],
    )
    def test_a_logarithm_of_a_probability_is_unstable(self, name, op):
        program = getattr(self, name)
        found = {f.where.line: f.op for f in self._audit(program, WEIGHTS).shown() if f.op != "exp"}
        assert found == {program.__code__.co_firstlineno + 1: op}

    def test_a_logarithm_with_an_epsilon_is_sound(self):
        def loss(w):
            less = self.F.log(1.0 - self._softmax(w) + 1e-6)
            return self.F.mean(less + self.F.log(self._softmax(w) + 1e-6))

        assert self._audit(loss, WEIGHTS).ok()

    def test_a_loop_without_a_layer_explodes_or_vanishes(self):
        def growing(x):
            for _ in range(24):
                x = 3.0 * x
            return x

        def fading(x):
            for _ in range(24):
                x = self.F.tanh(0.2 * x)
            return self.F.mean(x)

        def average(x):
            mean = x
            for _ in range(24):
                mean = 0.5 * mean + 0.5 * x * x
            return self.F.mean(mean)

        found = [[f.kind for f in self._audit(p, 1.0).shown()] for p in (growing, fading, average)]
        assert found == [["exploding"], ["vanishing"], []]


WEIGHTS = [[0.1, 0.5, -0.3], [0.2, 1.0, 0.4]]


class ReturningCases(Cases):
    """Of a framework in which a program is a function of arrays, and returns what is differentiated."""

    def test_a_program_that_returns_nothing_is_refused(self):
        with pytest.raises(surrogate.SpecError, match="returns no array"):
            self._audit(lambda w: None, [1.0, 1.0, 1.0])

    def test_wrt_is_arrays_names_or_a_mapping(self):
        x, a, b = (self.F.array([1.0, 1.0, 1.0]) for _ in range(3))

        def gradients(wrt, **options):
            return list(
                surrogate.audit(self.backend, loss, x, {"a": a, "b": b}, wrt=wrt, **options).gradients
            )

        def loss(x, p):
            return self.F.mean(p["a"] * p["b"] * x)

        for wrt, name in ((b, "b"), ([b], "b"), ({"mine": b}, "mine")):
            assert gradients(wrt) == [name]
        assert gradients("b", argnums=1) == ["b"]
        with pytest.raises(surrogate.SpecError, match="no 'c'"):
            gradients("c", argnums=1)
