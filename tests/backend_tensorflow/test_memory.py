"""What is kept between forward and backward: nothing for a constant, a byte per element for a window."""

import numpy as np
import pytest
import tensorflow as tf

import surrogate

N = 1000
X = tf.constant(np.linspace(-2, 2, N, dtype=np.float32))

EAGER = {
    "sign:identity": (tf.sign, 0),
    "sign:hardtanh": (tf.sign, N),
    "sign:tanh": (tf.sign, 4 * N),
    "round:identity": (tf.round, 0),
    "mod:exact": (lambda x: x % 2.0, 0),
    "mod:identity": (lambda x: x % tf.fill([N], 2.0), 0),
    "clip:closed": (lambda x: tf.clip_by_value(x, -1.0, 1.0), N),
    "clip:identity": (lambda x: tf.clip_by_value(x, -1.0, 1.0), 0),
}


@pytest.mark.parametrize("case", EAGER)
def test_bytes_on_the_tape(case, backend):
    f, bytes_ = EAGER[case]
    op, spec = case.split(":")
    with surrogate.override("tensorflow", {op: spec}):
        assert backend.driver().residuals(f, [X]) == bytes_


@pytest.mark.parametrize(
    ("spec", "kept"), [("identity", []), ("hardtanh", [tf.bool]), ("tanh", [tf.float32])], ids=str
)
def test_what_a_function_keeps_for_its_backward(spec, kept):
    """The forward function of a tape around a tf.function returns, besides its value, what backward reads."""
    with surrogate.override("tensorflow", {"sign": spec}):
        f = tf.function(lambda x: tf.sign(-x)).get_concrete_function(X)
    from tensorflow.python.eager.polymorphic_function.concrete_function import (
        _DelayedRewriteGradientFunctions,
    )

    rewritten = _DelayedRewriteGradientFunctions(f._inference_function, None)
    forward, _ = rewritten.forward_backward()
    large = [t.dtype for t in forward.function_type.flat_outputs if t.shape == (N,)]
    assert large[1:] == kept
