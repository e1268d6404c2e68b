"""A JAX without one of the hooks is refused when the backend loads, by name."""

import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import pytest
import surrogate_jax
from surrogate_jax import _hooks, _probe, _spellings, _whose

import surrogate


@pytest.fixture(autouse=True)
def _loaded():
    surrogate.load_backend("jax")


def test_every_hook_of_the_table_is_there():
    _hooks.check()


@pytest.mark.parametrize("hook", _hooks.HOOKS, ids=lambda hook: hook.where)
def test_a_missing_hook_is_named_with_the_tested_versions(hook, monkeypatch):
    module, _, attribute = hook.where.partition(":")
    gone = surrogate.Hook(f"{module}:{attribute}_gone", hook.why)
    monkeypatch.setattr(_hooks, "HOOKS", (gone,))
    with pytest.raises(surrogate.IncompatibleFrameworkError, match=f"{attribute}_gone") as caught:
        surrogate_jax.surrogate_backend("jax")
    assert _hooks.TESTED in str(caught.value)


@pytest.mark.parametrize("where", ["jax.nn:relu", "jax.interpreters.ad:primitive_jvps", "jax:custom_jvp"])
def test_it_is_missed_before_any_module_takes_it(where):
    module, _, name = where.partition(":")
    script = f"""
        import importlib, jax, surrogate
        delattr(importlib.import_module({module!r}), {name!r})
        try:
            surrogate.load_backend("jax")
        except surrogate.IncompatibleFrameworkError as error:
            assert {where.replace(":", ".")!r} in str(error), error
        else:
            raise AssertionError("loaded")
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)


def test_a_frame_walk_that_lets_jax_through_is_noticed(monkeypatch):
    monkeypatch.setattr(_whose, "_FUNCTIONS", ())
    with pytest.raises(surrogate.IncompatibleFrameworkError):
        surrogate_jax.surrogate_backend("jax")
    monkeypatch.undo()
    _still_works()


def test_a_frame_walk_that_takes_the_user_for_jax_is_noticed(monkeypatch):
    monkeypatch.setattr(_whose, "_PASSING_NAMES", frozenset())
    monkeypatch.setattr(_whose, "_PASSING", ())
    with pytest.raises(surrogate.IncompatibleFrameworkError, match="seeing calls of"):
        surrogate_jax.surrogate_backend("jax")
    monkeypatch.undo()
    _still_works()


def test_a_renamed_function_is_noticed(monkeypatch):
    renamed = {name: op for name, op in _spellings.JNP.items() if name != "remainder"}
    monkeypatch.setattr(_spellings, "JNP", renamed)
    with pytest.raises(surrogate.IncompatibleFrameworkError, match="seeing calls of mod"):
        surrogate_jax.surrogate_backend("jax")
    monkeypatch.undo()
    _still_works()


def test_a_rounding_that_is_not_there_is_noticed(monkeypatch):
    monkeypatch.setattr(_spellings, "_rounds", lambda jaxpr, decimals: False)
    with pytest.raises(surrogate.IncompatibleFrameworkError, match="seeing calls of round"):
        surrogate_jax.surrogate_backend("jax")
    monkeypatch.undo()
    _still_works()


@pytest.mark.parametrize("twin", ["sign_p", "lt_p"])
def test_a_primitive_cannot_be_hooked_twice(twin, monkeypatch):
    """Under two names of the tables the second hook would take the calls of the first for JAX's own."""
    monkeypatch.setattr(jax.lax, "another_p", getattr(jax.lax, twin), raising=False)
    monkeypatch.setitem(_spellings.LAX, "another_p", ("floor", "floor"))
    with pytest.raises(ValueError, match="hooked twice"):
        surrogate_jax.surrogate_backend("jax")
    monkeypatch.undo()
    _still_works()


def test_a_primitive_in_two_tables_has_one_hook_that_does_both():
    """A spelling of an op that ``jax_disable_jit`` watches, too."""
    script = """
        import jax, surrogate
        from surrogate_jax import _install
        _install.WATCHED = (*_install.WATCHED, "sign_p")
        with surrogate.override("jax", {"sign": "identity"}) as active:
            assert jax.grad(lambda x: jax.lax.sign(x))(0.5) == 1
        assert active.hits == {"sign": 1}, active.hits
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)


def test_the_trial_leaves_nothing_in_force():
    backend = surrogate.load_backend("jax")
    _probe.probe(backend)
    assert not surrogate.active("jax")
    _still_works()


def _still_works():
    compiled = jax.jit(jax.grad(lambda x: jnp.sign(x)))
    for _ in range(2):  # what was compiled in the first tells the second
        with surrogate.override("jax", {"sign": "identity"}) as active:
            assert compiled(0.5) == 1
        assert active.hits["sign"] == 1
    assert jax.grad(lambda x: jnp.sign(x))(0.5) == 0


def test_other_names_are_not_ours():
    assert surrogate_jax.surrogate_backend("numpy") is None


def test_namespace_has_the_names_of_the_reference():
    from surrogate_jax import _namespace

    from surrogate import _numpy

    assert sorted(_namespace.__all__) == sorted(_numpy.__all__)


def test_namespace_conventions():
    from surrogate_jax import _namespace as xp

    at_zero = jnp.float32(0)
    for order in (
        jax.grad(xp.abs),
        jax.grad(jax.grad(xp.abs)),
        jax.jit(jax.grad(xp.abs)),
        jax.jacfwd(xp.abs),
    ):
        assert order(at_zero) == 0
    assert jax.vmap(jax.grad(xp.abs))(jnp.asarray([-2.0, 0.0, 3.0])).tolist() == [-1, 0, 1]
    assert jax.grad(xp.maximum)(1.0, 1.0) == jax.grad(xp.minimum)(1.0, 1.0) == 0.5
    assert xp.widen(jnp.bfloat16(1)).dtype == xp.widen(jnp.float16(1)).dtype == jnp.float32
    assert xp.widen(2.0) == 2.0
    assert xp.widen(jnp.asarray([True])).dtype == bool
    assert xp.abs(-3.0) == 3
