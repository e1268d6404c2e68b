"""Specs are read as a name and literals, and never evaluated."""

import pytest

import surrogate
from surrogate._spec import parse


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("hardtanh", ("hardtanh", {})),
        (" hardtanh ( ) ", ("hardtanh", {})),
        ("hardtanh(width=1.5)", ("hardtanh", {"width": 1.5})),
        ("clipped(lo=-2, hi=2,)", ("clipped", {"lo": -2, "hi": 2})),
        ("snntorch:fast_sigmoid(slope=1e1)", ("snntorch:fast_sigmoid", {"slope": 10.0})),
    ],
)
def test_reads_names_and_literals(spec, expected):
    assert parse(spec) == expected


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "2",
        "hardtanh(",
        "hardtanh)",
        "hardtanh(1.5)",
        "hardtanh(width=1.5)(2)",
        "hardtanh(width=w)",
        "hardtanh(width=__import__('os').getcwd())",
        "hardtanh(**{'width': 1})",
        "hardtanh(width=1, width=2)",
        "a:b:c",
        "hardtanh(width=" + "(" * 2000 + ")" * 2000 + ")",
    ],
    ids=lambda spec: spec[:30] or "empty",
)
def test_refuses_everything_else(spec):
    with pytest.raises(surrogate.SpecError, match=r"hardtanh\(width=1.5\)"):
        parse(spec)


def test_nothing_in_a_spec_is_called():
    calls = []
    surrogate._spec_probe = calls.append
    try:
        with pytest.raises(surrogate.SpecError):
            surrogate.gradient("sign", "hardtanh(width=surrogate._spec_probe(1))")
    finally:
        del surrogate._spec_probe
    assert calls == []


@pytest.mark.parametrize("spec", [3, None, 1.5, ["hardtanh"], b"hardtanh"])
def test_a_spec_of_the_wrong_type_says_what_is_wanted(spec):
    with pytest.raises(surrogate.SpecError, match="give a string like"):
        surrogate.gradient("sign", spec)


def test_native_is_a_rule_and_no_gradient():
    with pytest.raises(surrogate.SpecError, match="left alone"):
        surrogate.gradient("sign", "native")
