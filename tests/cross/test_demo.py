"""The demo's network in every framework: one start, one course, on easy data that needs no package."""

import importlib
import warnings

import numpy as np
import pytest

import surrogate
from surrogate.demo.digits import untrained
from surrogate.demo.protocol import Task
from surrogate.demo.runner import RULES, available


def easy(*, compiled=False):
    """Ten fixed patterns of 64 pixels, each with a tenth of its pixels flipped: 640 to learn, 160 to test."""
    random = np.random.default_rng(0)
    patterns = random.choice([-1.0, 1.0], (10, 64))
    digits = np.tile(np.arange(10), 80)
    flips = np.where(random.random((800, 64)) < 0.1, -1.0, 1.0)
    x = (patterns[digits] * flips).astype(np.float32)
    return Task(
        x[:640], digits[:640], x[640:], digits[640:], untrained(0), epochs=4, seed=0, compiled=compiled
    )


def train(name, task):
    seen = []
    module = importlib.import_module(f"surrogate.demo.models.{name}_model")
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # natively, some frameworks notice that nothing depends on the weights
        accuracies, reached = module.train(task, seen.append)
    assert seen == accuracies[1:]
    return accuracies, reached


MODES = [
    pytest.param(name, compiled, id=f"{name}{'-compiled' if compiled else ''}")
    for name in available()
    for compiled in ((False,) if name == "autograd" else (False, True))
]


@pytest.mark.parametrize(("name", "compiled"), MODES)
def test_natively_nothing_is_learnt_and_under_an_override_all_is(name, compiled):
    task = easy(compiled=compiled)
    native, native_reached = train(name, task)
    with surrogate.override(name, RULES):
        trained, reached = train(name, task)
    assert native == [native[0]] * (task.epochs + 1)
    assert native_reached == 0.0
    assert trained[0] == native[0]
    assert trained[-1] == 1.0
    assert reached == 1.0
