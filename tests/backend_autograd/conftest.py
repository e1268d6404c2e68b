"""Gradients whose numbers show which op, operand and attribute they were evaluated at."""

import gc
import sys
from pathlib import Path

import autograd.numpy as anp
import numpy as np
import pytest
from autograd.numpy.numpy_boxes import ArrayBox

sys.path.insert(0, str(Path(__file__).parents[1] / "shared"))  # for places


def parabola(xp, x):
    """1 + x^2: differs at every point, and is no derivative of any op."""
    return 1 + x * x


def planes(xp, x, y):
    """(x + 2y, xy): tells the two operands apart."""
    return x + 2 * y, x * y


def slopes(xp, x, lo, hi):
    """(x^2, 3, 5): tells the three operands apart."""
    return x * x, 3.0, 5.0


RULES = {
    **dict.fromkeys(("sign", "round", "floor", "ceil", "trunc", "abs"), parabola),
    **dict.fromkeys(("mod", "fmod", "floor_divide", "heaviside", "maximum", "minimum"), planes),
    "clip": slopes,
}


@pytest.fixture
def rules():
    """A telling gradient for every op that autograd has."""
    return dict(RULES)


@pytest.fixture
def x():
    """First operands, ties of round and sign among them."""
    return np.array([-2.5, -1.5, -0.25, 0.0, 0.5, 1.75, 3.0])


@pytest.fixture
def y():
    """Second operands, of both signs."""
    return np.array([3.0, -3.0, 0.5, -0.25, 2.0, 1.5, -1.0])


@pytest.fixture
def g():
    """Upstream gradients."""
    return np.array([1.0, -2.0, 3.0, 0.5, -0.25, 4.0, 7.0])


def _fingerprint():
    functions = {name: f.__code__ for name, f in vars(anp).items() if hasattr(f, "__code__")}
    return functions, dict(vars(ArrayBox))


@pytest.fixture(autouse=True)
def _autograd_as_before():
    """After every test autograd is exactly as its authors made it."""
    before = _fingerprint()
    yield
    if _fingerprint() != before:  # something may still hold a context with an override in it
        gc.collect()
    assert _fingerprint() == before
