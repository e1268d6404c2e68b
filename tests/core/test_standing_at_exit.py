"""What is said when a process ends, of what is still in force and captured nothing."""

import os
import sys
import warnings

import pytest

import surrogate
from surrogate import _standing


@pytest.fixture
def silent(toy):
    """A use that captures nothing, to the end."""
    handle = surrogate.use(toy, {"sign": "tanh"})
    yield handle
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", surrogate.NothingCapturedWarning)
        handle.undo()


def said(pid):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        _standing._say_at_exit(pid)
    return [(one.category, str(one.message), one.filename) for one in found]


def test_it_names_the_op_and_the_line(silent):
    [(category, message, file)] = said(os.getpid())
    assert category is surrogate.NothingCapturedWarning
    assert "sign" in message
    assert file == __file__


def test_a_copy_of_the_process_is_silent(silent):
    assert said(os.getpid() + 1) == []


def test_a_program_that_failed_has_other_news(silent, monkeypatch):
    monkeypatch.setattr(sys, "last_value", ValueError(), raising=False)
    assert said(os.getpid()) == []


def test_what_captured_is_not_named(toy, silent):
    toy.hit("sign")
    assert said(os.getpid()) == []
