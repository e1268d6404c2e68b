"""Errors survive tools that make them again."""

import copy
import pickle

import pytest

import surrogate

ERRORS = [
    e for e in vars(surrogate).values() if isinstance(e, type) and issubclass(e, surrogate.SurrogateError)
]


@pytest.mark.parametrize("error", ERRORS)
def test_an_error_is_made_from_its_message_alone(error):
    assert error.__init__ is Exception.__init__  # what TensorFlow's autograph asks before it wraps one
    for made in (error("words"), copy.copy(error("words")), pickle.loads(pickle.dumps(error("words")))):
        assert str(made) == "words"
