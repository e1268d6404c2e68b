"""The names as types are those of the catalogue."""

import runpy
import typing
from pathlib import Path

import pytest

import surrogate

SCRIPT = Path(__file__).parents[2] / "docs" / "generate_names.py"


def test_the_file_is_what_the_script_writes():
    script = runpy.run_path(str(SCRIPT))
    assert script["FILE"].read_text() == script["text"](), "run: python docs/generate_names.py"


def test_the_names_are_known():
    assert list(typing.get_args(surrogate.OpName)) == surrogate.ops()
    assert {*typing.get_args(surrogate.BackendName)} - {"keras"} <= {*surrogate.backends()}
    known = {n for op in surrogate.ops() for n in (*surrogate.gradients(op), *surrogate.presets(op))}
    assert {*typing.get_args(surrogate.GradientName)} == known


@pytest.mark.parametrize("op", ["sign", "heaviside", "compare"])
def test_a_rule_has_the_names_of_its_op(op):
    hint = typing.get_type_hints(surrogate.NamedRules)[op]
    owner = "greater" if op == "compare" else op
    assert {"native", *surrogate.gradients(owner), *surrogate.presets(owner)} == {
        name for part in typing.get_args(hint) for name in typing.get_args(part) if isinstance(name, str)
    } | {part for part in typing.get_args(hint) if isinstance(part, str)}
