"""What an override that captured nothing says: how else its ops are written, and where else they may be."""

import sys
import types

import pytest

import surrogate
from surrogate._near_misses import near_misses


@pytest.fixture(autouse=True)
def no_other_framework(monkeypatch):
    for name in ("torch", "tensorflow", "jax", "autograd"):
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.mark.parametrize(
    ("ops", "said"),
    [
        (["heaviside"], "Code that writes heaviside as (x > 0).float() needs a rule for compare."),
        (
            ["sign", "heaviside"],
            "Code that writes sign or heaviside as (x > 0).float() needs a rule for compare.",
        ),
        (["round"], "Code that writes round as a cast to integers needs a rule for astype."),
        (["clip"], "Code that writes clip as maximum and minimum needs a rule for maximum and minimum."),
        (["abs"], ""),
    ],
    ids=str,
)
def test_how_else_an_op_is_written(ops, said):
    assert near_misses(ops, "torch").strip() == said


def test_every_op_that_it_names_is_known():
    from surrogate._near_misses import _WRITTEN

    keys = {
        word
        for _, key in _WRITTEN.values()
        for word in key.replace(",", "").split()
        if word not in ("and", "or")
    }
    assert keys - {"compare"} | set(_WRITTEN) <= set(surrogate.ops())


def test_another_framework_that_is_imported(toy, monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", types.ModuleType("jax"))
    with pytest.warns(
        surrogate.NothingCapturedWarning, match=r"Ops of jax, imported here too, obey rules of "
    ):
        with surrogate.override(toy, {"sign": "hardtanh"}):
            pass


def test_its_own_framework_is_not_another(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", types.ModuleType("jax"))
    assert near_misses(["abs"], "jax") == ""


def test_where_the_op_ran_under_another_rule_that_is_said_instead(toy):
    outer, inner = (surrogate.override(toy, {"sign": spec}) for spec in ("hardtanh", "identity"))
    with pytest.warns(surrogate.NothingCapturedWarning) as said, outer, inner:
        toy.hit("sign")
    assert "won, with 'identity'" in str(said[0].message)
    assert "compare" not in str(said[0].message)
