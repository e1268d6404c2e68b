"""What ``wrt=`` names: arrays, names of the report's, or a mapping of own names to arrays."""

import numpy as np
import pytest

import surrogate
from surrogate.auditing import Wanted

A, B, OTHER = np.ones(2), np.ones(2), np.ones(2)
KNOWN = {"a": A, "b": B}


@pytest.mark.parametrize(
    ("wrt", "names"),
    [(B, ["b"]), ([A, B], ["a", "b"]), ("b", ["b"]), (["a", B], ["a", "b"]), ({"mine": A}, ["mine"])],
    ids=["an array", "arrays", "a name", "both", "a mapping"],
)
def test_it_picks_by_identity_and_by_name(wrt, names):
    picked = Wanted(wrt).picked(KNOWN)
    assert sorted(picked) == names
    assert all(x is A or x is B for x in picked.values())
    assert [Wanted(wrt).name("b", B)] == [{"mine": None}.get(names[0], "b")]


def test_an_array_that_the_recorder_does_not_know_has_a_number():
    assert list(Wanted(OTHER).picked(KNOWN)) == ["wrt"]
    assert list(Wanted([B, OTHER]).picked(KNOWN)) == ["b", "wrt[1]"]
    assert Wanted(OTHER).name("a", A) is None


def test_none_is_everything():
    assert Wanted(None).name("a", A) == "a"


def test_a_name_that_nothing_has_is_refused():
    with pytest.raises(surrogate.SpecError, match="no 'c'; it has a, b"):
        Wanted("c").picked(KNOWN)
