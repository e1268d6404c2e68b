"""What compiled code captured is told when it is called: per op, per function, in every block."""

import warnings

import jax
import jax.numpy as jnp
import pytest

import surrogate

RULES = {"round": "identity", "floor": "identity"}


def rounded(x):
    return jnp.round(x)


def floored(x):
    return jnp.floor(x)


def doubled(x):
    return 2 * x


def compiled(f):
    return jax.jit(jax.grad(f))


def slope(f):
    return f(1.3).item()


def block(run):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", surrogate.NothingCapturedWarning)
        with surrogate.override("jax", RULES) as inside:
            run()
    said = [w for w in caught if w.category is surrogate.NothingCapturedWarning]
    return dict(inside.hits), bool(said)


@pytest.mark.parametrize("again", [1, 2])
def test_each_block_knows_what_its_compiled_functions_captured(again):
    rounds, floors, neither = compiled(rounded), compiled(floored), compiled(doubled)
    for _ in range(1 + again):
        assert block(lambda: slope(rounds)) == ({"round": 1, "floor": 0}, False)
        assert block(lambda: slope(neither)) == ({"round": 0, "floor": 0}, True)
        assert block(lambda: slope(floors)) == ({"round": 0, "floor": 1}, False)
        assert block(lambda: (slope(rounds), slope(floors)))[0] == {"round": 1, "floor": 1}


def test_another_gradient_is_not_told_of():
    rounds = compiled(rounded)
    assert block(lambda: slope(rounds))[1] is False
    with pytest.warns(surrogate.NothingCapturedWarning), surrogate.override("jax", {"floor": "identity"}):
        slope(rounds)
    with surrogate.override("jax", {"round": "zero"}) as other:
        assert slope(rounds) == 0.0
    assert other.hits["round"] >= 1


def test_use_is_told_too():
    rounds = compiled(rounded)
    for _ in range(2):
        with surrogate.use("jax", RULES) as handle:
            assert slope(rounds) == 1.0
        assert handle.hits["round"] == 1


def test_a_compiled_function_that_is_differentiated_or_batched_from_outside():
    rounds = jax.jit(rounded)
    for _ in range(2):
        assert block(lambda: jax.grad(rounds)(1.3)) == ({"round": 1, "floor": 0}, False)
        assert block(lambda: jax.vmap(rounds)(jnp.ones(2))) == ({"round": 1, "floor": 0}, False)


def test_helpers_that_were_traced_on_the_way_are_not_taken_for_it():
    rounds = jax.jit(jax.grad(lambda x: jnp.linalg.norm(jnp.array([x, 1.0])) * rounded(x)))
    other = jax.jit(jax.grad(lambda x: jnp.linalg.norm(jnp.array([x, 1.0]))))
    assert block(lambda: slope(rounds))[0]["round"] == 1
    for _ in range(2):
        assert block(lambda: slope(other)) == ({"round": 0, "floor": 0}, True)
