"""One rule, every mode: the same numbers."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_modes

import surrogate

RULES = {
    "sign": ("hardtanh", tf.sign, [0.0, 1.0, 1.0, 0.0]),
    "round": ("identity", tf.round, [1.0, 1.0, 1.0, 1.0]),
    "clip": ("leaky(leak=0.25)", lambda x: tf.clip_by_value(x, -1.0, 1.0), [0.25, 1.0, 1.0, 0.25]),
    "trunc": ("clipped(lo=-1, hi=1)", keras.ops.trunc, [0.0, 1.0, 1.0, 0.0]),
}


@pytest.mark.parametrize("op", RULES)
@pytest.mark.parametrize("mode", tensorflow_modes.ALL)
def test_gives_the_rules_derivative(mode, op, x):
    spec, f, expected = RULES[op]
    with surrogate.override("tensorflow", {op: spec}) as o:
        found = tensorflow_modes.ALL[mode](f, x)
    np.testing.assert_array_equal(found, expected)
    assert o.hits[op] >= 1
