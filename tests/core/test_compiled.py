"""What a compiler captured once is told each time that it runs, where the same rules are in force."""

import sys

import pytest

import surrogate
from surrogate._compiled import Compiled


@pytest.fixture
def traced(toy):
    """What a compiler captured under one rule, in the call that is counted already."""
    with surrogate.override(toy, {"sign": "tanh"}) as first:
        compiled = Compiled()
        assert compiled.add(toy.state(), "sign", sys._getframe())
        toy.hit("sign")
        compiled.ran(toy.state())  # the call for which it was traced
    assert first.hits["sign"] == 1
    return compiled


def test_it_counts_where_the_same_rule_is_in_force(toy, traced):
    with surrogate.override(toy, {"sign": "tanh"}) as later:
        traced.ran(toy.state())
        traced.ran(toy.state())
    assert later.hits["sign"] == 2


@pytest.mark.filterwarnings("ignore::surrogate.NothingCapturedWarning")
def test_under_another_rule_it_counts_nothing(toy, traced):
    with surrogate.override(toy, {"sign": "arctan"}) as later:
        traced.ran(toy.state())
    assert later.hits["sign"] == 0


def test_one_place_counts_once_and_two_places_twice(toy):
    compiled = Compiled()
    assert not compiled
    with surrogate.override(toy, {"sign": "tanh"}) as active:
        found = [compiled.add(toy.state(), "sign", sys._getframe(), news=False) for _ in range(2)]
        again = compiled.add(toy.state(), "sign", sys._getframe(), news=False)
        compiled.ran(toy.state())
    assert (found, again) == ([True, False], True)
    assert active.hits["sign"] == 2
    assert compiled


def test_a_function_that_is_called_inside_counts_with_it(toy, traced):
    outer = Compiled()
    outer.update(traced)
    with surrogate.override(toy, {"sign": "tanh"}) as active:
        outer.ran(toy.state())
    assert active.hits["sign"] == 1
