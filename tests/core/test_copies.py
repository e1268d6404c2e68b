"""Overrides and backends that are copied, or sent to another process."""

import copy
import pickle

import pytest

import surrogate
from surrogate._state import Layer


@pytest.fixture
def known(toy, monkeypatch):
    """The toy, found by its name as an installed backend is."""
    monkeypatch.setitem(surrogate._plugins._loaded, toy.name, toy)
    return toy


def pickled(thing):
    return pickle.loads(pickle.dumps(thing))


COPIES = pytest.mark.parametrize("trip", [pickled, copy.copy, copy.deepcopy])


@COPIES
def test_a_copied_override_is_another_one_of_the_same_rules_that_is_not_entered(known, trip):
    with surrogate.override(known, {"sign": "hardtanh(width=2)", "round": "native"}) as original:
        known.hit("sign")
        made = trip(original)
    assert known.here == {}
    with surrogate.override(known, {"round": "identity"}):
        known.hit("round")
        with made:
            assert known.here == {"sign": "hardtanh(width=2.0)"}
            known.hit("sign")
            known.hit("sign")
    assert (original.hits, made.hits) == ({"sign": 1}, {"sign": 2})


@COPIES
def test_what_use_returns_cannot_be_copied_and_says_what_to_do(known, trip):
    with surrogate.use(known, {"sign": "identity"}) as handle:
        known.hit("sign")
        with pytest.raises(pickle.PicklingError, match=r"call surrogate\.use\(\.\.\.\) in the other process"):
            trip(handle)


@COPIES
def test_a_backend_is_one_in_its_process(known, trip):
    assert trip(known) is known
    assert trip(known.store) is known.store


def test_what_a_decorated_function_holds_can_be_pickled(known):
    # a pickler of functions, as worker processes of notebooks use, takes what they close over
    layer = pickled(Layer({"sign": surrogate.gradient("sign", "identity"), "round": None}))
    assert layer.rules == {"sign": surrogate.gradient("sign", "identity"), "round": None}
    assert layer.hits == {"sign": 0}
