"""What is compiled: the same operations as a hand-written rule, the user's lines, and the least memory."""

import collections
import inspect
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import surrogate


@jax.custom_vjp
def by_hand(x):
    return jnp.sign(x)


by_hand.defvjp(
    lambda x: (jnp.sign(x), jnp.abs(x) <= 1.0),
    lambda mask, g: (jnp.where(mask, g, 0.0),),
)


def operations(compiled):
    """How often each operation occurs in optimised HLO."""
    return collections.Counter(re.findall(r"= \S+ ([a-z][\w-]*)\(", compiled.as_text()))


def loss(f):
    return lambda x: (f(x * 1.1) * x).sum()


@pytest.mark.parametrize("size", [16, 1_000_000])
def test_optimised_operations_are_those_of_a_hand_written_rule(size):
    x = jnp.zeros(size)
    expected = operations(jax.jit(jax.value_and_grad(loss(by_hand))).lower(x).compile())
    with surrogate.override("jax", {"sign": "hardtanh"}):
        found = operations(jax.jit(jax.value_and_grad(loss(jnp.sign))).lower(x).compile())
    assert found == expected


FORWARD = {
    "sign": jnp.sign,
    "round": lambda x: jnp.round(x, 2),
    "mod": lambda x: x % 2,
    "reflected": lambda x: 2 % x,
    "floor_divide": lambda x: x // x,
    "clip": lambda x: jnp.clip(x, -1, None),
    "clamp": lambda x: lax.clamp(-1.0, x, 1.0),
    "relu": jax.nn.relu,
    "trunc": jnp.trunc,
    "heaviside": lambda x: jnp.heaviside(x, 0.5),
    "abs": abs,
    "lax_round": lax.round,
    "modf": lambda x: jnp.modf(x)[1],
}
RULES = {
    "sign": "hardtanh",
    "round": "identity",
    "mod": "exact",
    "floor_divide": "identity",
    "clip": "closed",
    "relu": "guided",
    "trunc": "identity",
    "heaviside": "arctan",
    "abs": "sign0",
}


@pytest.mark.parametrize("f", FORWARD.values(), ids=FORWARD)
def test_forward_stablehlo_is_the_native_one(f):
    x = jnp.ones((3, 2))
    native = jax.jit(lambda x: f(x)).lower(x).as_text()
    with surrogate.override("jax", RULES):
        assert jax.jit(lambda x: f(x)).lower(x).as_text() == native


def test_names_and_lines_are_the_users():
    def block(x):
        with jax.named_scope("block"):
            return jnp.sign(x) + x % 2  # the line to find

    def function(f):
        return jax.jit(jax.grad(lambda x: f(x).sum()))

    line = next(i for i, text in enumerate(inspect.getsource(block).splitlines()) if "line to find" in text)
    line += inspect.getsourcelines(block)[1]
    with surrogate.override("jax", RULES):
        jaxpr = jax.make_jaxpr(lambda x: block(x))(jnp.ones(3))
        text = function(block).lower(jnp.ones(3)).as_text(debug_info=True)
    captured = [eqn for eqn in jaxpr.eqns if eqn.primitive.name == "surrogate"]
    assert len(captured) == 2
    for eqn in captured:
        assert f"test_compiled_form.py:{line}" in jax.extend.source_info_util.summarize(eqn.source_info)
    assert f'test_compiled_form.py":{line}' in text
    for file in ("_primitive.py", "_rule.py", "_partial.py", "catalogue"):
        assert file not in text
    assert "block" in text


def kept(f, *args):
    """Shapes and dtypes of the arrays that the pullback of ``f`` keeps."""
    return sorted((str(x.dtype), x.shape) for x in jax.tree.leaves(jax.vjp(f, *args)[1]) if x.ndim)


N = 1000
MEMORY = {
    "window": ("sign", "hardtanh", jnp.sign, [("bool", (N,))]),
    "identity": ("sign", "identity", jnp.sign, []),
    "constant": ("round", "identity", jnp.round, []),
    "inputs": ("sign", "tanh", jnp.sign, [("float32", (N,))]),
    "clip": ("clip", "closed", lambda x: jnp.clip(x, -1, 1), [("bool", (N,))]),
    "dividend": ("mod", "exact", lambda x: x % 2, []),
    "upstream": ("relu", "guided", jax.nn.relu, [("float32", (N,))]),
    "quotient": ("floor_divide", "identity", lambda x: x // 2, [("float32", (N,))]),
}


@pytest.mark.parametrize(("op", "gradient", "f", "expected"), MEMORY.values(), ids=MEMORY)
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_what_is_kept(op, gradient, f, expected, wrap):
    with surrogate.override("jax", {op: gradient}):
        assert kept(wrap(lambda x: f(x)), jnp.ones(N)) == expected


def test_a_bound_that_wants_no_derivative_keeps_nothing_for_it():
    x = jnp.ones(N)
    with surrogate.override("jax", {"clip": "closed"}):
        assert kept(lambda lo: jnp.clip(x, lo, 2.0), jnp.zeros(N)) == [("bool", (N,))]
        assert kept(lambda x, lo, hi: jnp.clip(x, lo, hi), x, x, x) == [("bool", (N,))] * 3


def test_a_small_operand_is_kept_small():
    with surrogate.override("jax", {"mod": "exact"}):
        found = kept(lambda x, y: x % y, jnp.ones((N, 8)), jnp.ones(8))
    assert found == [("float32", (8,)), ("float32", (N, 8))]


def test_scan_stacks_masks_alone():
    def f(x):
        return lax.scan(lambda c, v: (c, jnp.sign(v)), 0.0, x)[1]

    with surrogate.override("jax", {"sign": "hardtanh"}):
        assert kept(f, jnp.ones((5, N))) == [("bool", (5, N))]


def test_size_of_the_compiled_forward():
    def forward(x):
        return jax.vjp(jnp.sign, x)

    with surrogate.override("jax", {"sign": "hardtanh"}):
        window = jax.jit(lambda x: forward(x)).lower(jnp.ones(N)).compile()
    with surrogate.override("jax", {"sign": "identity"}):
        nothing = jax.jit(lambda x: forward(x)).lower(jnp.ones(N)).compile()
    sizes = [c.memory_analysis().output_size_in_bytes for c in (window, nothing)]
    assert sizes[1] == 4 * N
    assert 5 * N <= sizes[0] <= 5 * N + 64  # a tuple table of a few pointers


def test_a_window_is_not_a_product():
    with surrogate.override("jax", {"sign": "hardtanh"}):
        jaxpr = jax.make_jaxpr(lambda x: jax.vjp(jnp.sign, x)[1](x)[0])(np.ones(3, np.float32))
    assert "select_n" in str(jaxpr)
    assert " mul " not in str(jaxpr)
