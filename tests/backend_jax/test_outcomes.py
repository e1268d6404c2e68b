"""Every way by which a call under a rule stays native says why."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import surrogate

X = jnp.array([-0.5, 2.0])
NOT_RECORDED, NOT_FLOATING = "no gradient is recorded", "not of real floating-point arrays"
OWN = "called by a function of JAX's"


def of_integers(f):
    """Compile ``f`` for integers."""
    return lambda: jax.jit(lambda n: f(n))(jnp.array([-1, 2]))


@pytest.mark.filterwarnings("ignore::surrogate.NothingCapturedWarning")
@pytest.mark.parametrize(
    ("rule", "f", "why"),
    [
        ("sign:identity", lambda: lax.sign(X), NOT_RECORDED),
        ("round:identity", of_integers(jnp.round), NOT_FLOATING),
        ("sign:identity", of_integers(lax.sign), NOT_FLOATING),
        ("relu:identity", of_integers(jax.nn.relu), NOT_FLOATING),
        ("greater:arctan", of_integers(lambda n: n > 1), NOT_FLOATING),
        ("argmax:softmax", of_integers(jnp.argmax), NOT_FLOATING),
        ("floor:identity", lambda: jax.grad(lambda x: jnp.percentile(x, 50))(X), OWN),
    ],
)
def test_it_says_why(rule, f, why):
    op, _, spec = rule.partition(":")
    with surrogate.override("jax", {op: spec}, trace=True) as block:
        f()
    assert (op, why) in {(row.op, row.why) for row in block.captures}
    assert [row for row in block.captures if not row.why] == []


def test_a_call_that_is_captured_is_told_once():
    jax.clear_caches()  # its body is traced, too
    with surrogate.override("jax", {"sign": "identity"}, trace=True) as block:
        jax.grad(lambda x: jnp.sum(jnp.sign(x)))(X)
    assert [(row.op, row.why) for row in block.captures] == [("sign", "")]
