"""Every native formula that we ship, in every framework: the kit's check, with numbers worked out by hand."""

from __future__ import annotations

import importlib.util
import runpy
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import surrogate
from surrogate._native import GENERIC, generic, shipped
from surrogate.testing import check_rule

_spec = importlib.util.spec_from_file_location("natives", Path(__file__).with_name("natives.py"))
assert _spec is not None
assert _spec.loader is not None
natives: Any = importlib.util.module_from_spec(_spec)
sys.modules["natives"] = natives
_spec.loader.exec_module(natives)

FRAMEWORKS = [name for name in natives.CASES if importlib.util.find_spec(name)]
CASES = [case for name in FRAMEWORKS for case in natives.CASES[name]()]
#: Formulas that are not linear in the upstream gradient, and those of whole functions.
NO_FORWARD = [
    case
    for case in CASES
    if case.spec in ("guided", "deconvnet") or ("." in case.key and "::" not in case.key)
]


def wide(framework: str) -> Any:
    """Where float64 is float64."""
    if framework != "jax":
        return nullcontext()
    jax = importlib.import_module("jax")
    return (jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64)(True)


@pytest.mark.parametrize("case", CASES, ids=[case.label for case in CASES])
def test_the_right_numbers_in_every_mode(case: Any) -> None:
    with wide(case.framework):
        check_rule(
            case.framework,
            {case.key: case.spec, **case.beside},
            case.f,
            case.inputs,
            g=case.g,
            cotangents=case.right,
            tolerance=1e-12,
            forward=not any(case is one for one in NO_FORWARD),
        )


@pytest.mark.parametrize("case", NO_FORWARD, ids=[case.label for case in NO_FORWARD])
def test_others_have_no_forward_mode(case: Any) -> None:
    with wide(case.framework), pytest.raises(surrogate.ForwardModeError, match="has no forward mode"):
        check_rule(
            case.framework,
            {case.key: case.spec},
            case.f,
            case.inputs,
            g=case.g,
            cotangents=case.right,
            tolerance=1e-12,
            forward=True,
        )


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_each_formula_that_comes_along_has_a_case(name: str) -> None:
    surrogate.load_backend(name)
    mine = [case for case in CASES if case.framework == name]
    checked = {(case.key, case.spec.partition("(")[0]) for case in mine}
    ours = natives_that_come_along(name)
    assert ours <= checked, ours - checked
    functions = getattr(importlib.import_module(f"surrogate_{name}._pack"), "FUNCTIONS", {})
    assert len(functions) == sum("." in key and "::" not in key for key, _ in checked)
    assert {formula for _, formula in checked} >= set(generic(name)) >= set(GENERIC)


def natives_that_come_along(name: str) -> set[tuple[str, str]]:
    pack = importlib.import_module(f"surrogate_{name}._pack").PACK
    ours = {(key, formula) for key, named in pack.items() for formula in named}
    assert ours == {(key, formula) for key, named in shipped(name).items() for formula in named}
    return ours


@pytest.mark.skipif(len(FRAMEWORKS) < 3, reason="the page is about all three frameworks")
def test_the_page_says_what_comes_along() -> None:
    docs = Path(__file__).parents[2] / "docs"
    page = runpy.run_path(str(docs / "generate_natives.py"))["page"]()
    assert page + "\n" == (docs / "natives.md").read_text(), "run docs/generate_natives.py"
