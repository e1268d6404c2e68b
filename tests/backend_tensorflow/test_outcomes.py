"""Every way by which a call under a rule stays native says why."""

import pytest
import tensorflow as tf

import surrogate

X, N = tf.constant([-0.5, 2.0]), tf.constant([-1, 2])
NOT_RECORDED, NOT_FLOATING = "no gradient is recorded", "not a real floating-point tensor"
OWN, NAMED = "called by a function of TensorFlow's", "its node names another gradient"


def taped(f, x=X):
    """Run a function under a tape that watches a float."""

    def run():
        with tf.GradientTape() as tape:
            tape.watch(X)
            f(x)

    return run


def in_graph(f, x=X):
    return lambda: tf.function(lambda: f(x))()


def named():
    with tf.Graph().as_default() as graph, graph.gradient_override_map({"Sign": "Identity"}):
        tf.sign(tf.constant([1.0]))


@pytest.mark.filterwarnings("ignore::surrogate.NothingCapturedWarning")
@pytest.mark.parametrize(
    ("rule", "f", "why"),
    [
        ("sign:identity", lambda: tf.sign(X), NOT_RECORDED),
        ("sign:identity", taped(tf.sign, tf.constant([1.0])), NOT_RECORDED),
        ("clip:closed", lambda: tf.clip_by_value(X, -1.0, 1.0), NOT_RECORDED),
        ("greater:arctan", taped(lambda x: x > 0, tf.constant([1.0])), NOT_RECORDED),
        ("Softplus:scaled(factor=2)", lambda: tf.nn.softplus(X), NOT_RECORDED),
        ("Softplus:scaled(factor=2)", taped(tf.nn.softplus, tf.constant([1.0])), NOT_RECORDED),
        ("abs:sign0", taped(lambda n: tf.raw_ops.Abs(x=n), N), NOT_FLOATING),
        ("abs:sign0", in_graph(lambda n: tf.raw_ops.Abs(x=n), N), NOT_FLOATING),
        ("clip:closed", in_graph(lambda n: tf.clip_by_value(n, 0, 1), N), NOT_FLOATING),
        ("greater:arctan", in_graph(lambda n: n > 1, N), NOT_FLOATING),
        ("maximum:closed", taped(lambda x: tf.nn.l2_normalize(x)), OWN),
        ("maximum:closed", in_graph(lambda x: tf.nn.l2_normalize(x)), OWN),
        ("sign:identity", named, NAMED),
    ],
)
def test_it_says_why(rule, f, why):
    op, _, spec = rule.partition(":")
    with surrogate.override("tensorflow", {op: spec}, trace=True) as block:
        f()
    assert (op, why) in {(row.op, row.why) for row in block.captures}
    assert [row for row in block.captures if not row.why] == []
