"""Programs that nobody tuned on: every planted line is named by its kind and op, and no other line."""

import inspect
import re

import autograd.numpy as np
import pytest

import surrogate

W = np.linspace(-1.3, 1.7, 8)


def whole_steps(w):
    steps = np.floor(np.exp(w) * 4)  #! zero:floor
    return np.sum(steps**2)


def half_of_them(w):
    on = np.where(w > np.mean(w), 1.0, 0.0)  #! cut:gt
    return np.sum(on) ** 2


def penalty_that_does_nothing(w):
    signs = np.sum(np.sign(w))  #! zero:sign
    return np.sum(w**2) + 0.3 * signs


def rank_of_the_largest(w):
    k = np.argmax(np.tanh(w))  #! cut:argmax
    return 1.0 * k * 3.0


def length_of_nothing(w):
    d = w - w
    return np.sum(np.sqrt(d))  #! nonfinite:sqrt


def flat_ends(w):
    return np.sum(np.tanh(w * 100 + 500))  #! saturated:tanh


def integer_quotient(w):
    cells = np.floor_divide(w * 10, 3)  #! zero:floor_divide
    return np.sum(np.cos(cells))


PLANTED = (
    *(whole_steps, half_of_them, penalty_that_does_nothing, rank_of_the_largest),
    *(length_of_nothing, flat_ends, integer_quotient),
)


def pieces(w):
    return np.sum(np.where(w > 0.2, w**2, 0.4 * w))


def wrapped(w):
    return np.sum((w - 2 * np.floor((w + 1) / 2)) ** 3)


SOUND = (pieces, wrapped)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy tells of the same
@pytest.mark.parametrize("program", [*PLANTED, *SOUND], ids=lambda p: p.__name__)
def test_the_planted_line_and_no_other(program):
    lines, start = inspect.getsourcelines(program)
    marks = {
        (start + number, *found.groups())
        for number, text in enumerate(lines)
        if (found := re.search(r"#! (\w+):(\w+)", text))
    }
    report = surrogate.audit("autograd", program, W)
    assert {(f.where.line, f.kind, f.op) for f in report.findings if f.at_least("warning")} == marks
