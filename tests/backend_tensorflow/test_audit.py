"""The audit of TensorFlow programs: every way to lose a gradient with its line, sound idioms, no trace left."""

import inspect
import re

import audit_programs
import numpy as np
import pytest
import tensorflow as tf
from audit_programs import FAULTY, SOUND

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
    assert all(f.where.file == audit_programs.__file__ for f in report.findings)


@pytest.mark.parametrize("program", SOUND, ids=ids)
def test_sound_idiom_is_not_accused(program):
    report = surrogate.audit("tensorflow", program, tf.constant(W))
    assert not named(report), str(report)
    assert report.reached == 1
