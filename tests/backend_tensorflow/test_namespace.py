"""The namespace that formulas are evaluated over: every name, and the library's conventions at ties."""

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_modes
from surrogate_tensorflow import _kernels, _namespace as xp

import surrogate
from surrogate import reference

POINTS = np.array([-2.5, -0.5, -0.0, 0.25, 1.5, np.inf, np.nan], np.float64)
POSITIVE = {"log", "log1p", "sqrt"}
# fmt: off
UNARY = (
    "abs", "atan", "ceil", "cos", "cosh", "exp", "expm1", "floor", "isfinite", "isinf", "isnan",
    "log", "log1p", "ones_like", "round", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh",
    "trunc", "zeros_like",
)
# fmt: on


def test_has_every_name():
    assert [name for name in reference.xp.__all__ if not hasattr(xp, name)] == []


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", UNARY)
def test_unary(name, dtype):
    points = POINTS.astype(dtype)
    points = np.abs(points) if name in POSITIVE else points
    with np.errstate(all="ignore"):
        want = getattr(reference.xp, name)(points)
    found = getattr(xp, name)(tf.constant(points))
    np.testing.assert_allclose(found, want, rtol=1e-6 if dtype is np.float32 else 1e-14)
    assert found.dtype == want.dtype


@pytest.mark.parametrize("name", ["maximum", "minimum"])
@pytest.mark.parametrize("mode", ["eager", "outer", "inner"])
def test_a_tie_is_split_evenly(name, mode):
    x = tf.constant([-1.0, 2.0, 5.0])
    found = tensorflow_modes.ALL[mode](lambda x: getattr(xp, name)(x, 2.0), x)
    np.testing.assert_array_equal(found, [0.0, 0.5, 1.0] if name == "maximum" else [1.0, 0.5, 0.0])


def test_abs_is_flat_at_zero(x):
    np.testing.assert_array_equal(
        tensorflow_modes.eager(xp.abs, tf.constant([-1.0, 0.0, 1.0])), [-1.0, 0.0, 1.0]
    )


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32, tf.float64])
def test_numbers_take_the_dtype_of_the_array(dtype):
    x = tf.constant([1.0, 2.0], dtype)
    for found in (xp.where(x > 1, x, 0.5), xp.where(x > 1, 0.5, x), xp.maximum(x, 1.5), xp.minimum(1.5, x)):
        assert found.dtype == dtype


def test_where_selects():
    x, g = tf.constant([1.0, 2.0]), tf.constant([np.inf, 3.0])
    np.testing.assert_array_equal(xp.where(x > 1, g, xp.zeros_like(g)), [0.0, 3.0])


def test_not_is_right_at_nan_in_graphs():
    """Grappler turns not(a > b) into a <= b."""
    f = tf.function(lambda x: xp.logical_not(x > 1))
    np.testing.assert_array_equal(f(tf.constant([0.0, 2.0, np.nan])), [True, False, True])


@pytest.mark.parametrize("narrow", [tf.float16, tf.bfloat16])
def test_widen_and_back(narrow):
    x = tf.constant([1.5], narrow)
    assert xp.widen(x).dtype == tf.float32
    assert xp.astype_like(xp.widen(x), x).dtype == narrow
    assert xp.widen(tf.constant([1.5], tf.float64)).dtype == tf.float64
    assert xp.widen(2.0) == 2.0


@pytest.mark.parametrize(
    ("op", "spec", "plain"),
    [
        ("sign", "hardtanh(width=2)", True),
        ("round", "clipped(lo=0, hi=1)", True),
        ("relu", "leaky", False),
        ("sign", "identity", False),
        ("sign", "tanh", False),
        ("clip", "closed", False),
        ("relu", "guided", False),
    ],
)
def test_which_rules_are_plain_windows(op, spec, plain):
    assert _kernels.is_plain_window(surrogate.gradient(op, spec).rule) is plain
