"""What compiled code captured is told when it is called: per op, per function, in every block."""

import threading
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


def traced_by_shape(f):
    jax.eval_shape(f, 1.3)
    return f


def traced_by_lower(f):
    f.lower(1.3)
    return f


@pytest.mark.parametrize("trace", [traced_by_shape, traced_by_lower])
def test_a_function_that_was_traced_in_one_block_and_runs_in_another(trace):
    rounds = compiled(lambda x: jnp.round(x))
    for run in (lambda: trace(rounds), lambda: slope(rounds), lambda: slope(rounds)):
        assert block(run) == ({"round": 1, "floor": 0}, False)


def test_what_is_compiled_while_a_function_is_traced_is_not_taken_for_it():
    @jax.jit
    def helper():
        return jnp.ones(3).sum()

    def inside(x):
        with jax.ensure_compile_time_eval():
            return jnp.round(x) * helper()

    rounds = compiled(inside)
    for _ in range(3):
        assert block(lambda: slope(rounds)) == ({"round": 1, "floor": 0}, False)
        assert block(helper) == ({"round": 0, "floor": 0}, True)


def test_a_block_inside_a_compiled_function():
    def inside(x):
        with surrogate.override("jax", {"round": "zero"}):
            y = jnp.round(x)
        return y + jnp.floor(x)

    both = compiled(inside)
    for _ in range(3):
        assert block(lambda: slope(both)) == ({"round": 0, "floor": 1}, False)
    only = compiled(lambda x: surrogate.override("jax", {"round": "zero"})(jnp.round)(x))
    for _ in range(3):
        assert block(lambda: slope(only)) == ({"round": 0, "floor": 0}, True)


def test_a_compiled_function_that_jax_calls_for_the_user():
    rounds = compiled(lambda x: jnp.round(x))
    for _ in range(3):
        assert block(lambda: jax.tree.map(rounds, [1.3, 2.6])) == ({"round": 1, "floor": 0}, False)


def test_a_place_is_told_once_in_a_block_whoever_calls_it():
    inner = jax.jit(rounded)
    outer = compiled(lambda x: 2 * inner(x))
    body = jax.grad(lambda xs: jax.lax.scan(lambda c, x: (c + rounded(x), None), 0.0, xs)[0])
    for _ in range(2):
        assert block(lambda: (slope(outer), slope(jax.grad(inner)))) == ({"round": 1, "floor": 0}, False)
        assert block(lambda: body(jnp.ones(3))) == ({"round": 1, "floor": 0}, False)


def test_threads_that_compile_at_the_same_time():
    def run():
        for f in own:
            slope(f)

    own = [compiled(lambda x, i=i: i * jnp.round(x)) for i in range(6)]
    with surrogate.use("jax", RULES):
        threads = [threading.Thread(target=run) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for f in own:
        assert block(lambda f=f: slope(f)) == ({"round": 1, "floor": 0}, False)


def whole(x):
    return jnp.round(x)


#: What is no op of floats: rules, and a function that obeys them.
OTHERS = {
    "comparison": ({"compare": "arctan"}, lambda x: (x > 1) * x),
    "cast": ({"astype": "identity"}, lambda x: x.astype(int) * x),
    "index": ({"argmax": "softmax"}, lambda x: jax.nn.one_hot(jnp.argmax(jnp.stack([x, 1.0])), 2)[0]),
    "primitive": ({"sin": lambda call, g: g}, jnp.sin),
    "whole function": ({whole: "identity"}, lambda x: whole(x)),
}


@pytest.mark.parametrize(("rules", "f"), OTHERS.values(), ids=OTHERS)
def test_of_every_kind(rules, f):
    with_it, without = compiled(f), compiled(lambda x: 3 * x)
    for _ in range(3):
        with surrogate.override("jax", rules) as inside:
            slope(with_it)
        assert sum(inside.hits.values()) == 1
        with pytest.warns(surrogate.NothingCapturedWarning), surrogate.override("jax", rules):
            slope(without)
