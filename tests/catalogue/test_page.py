"""The catalogue's page in the documentation, written from the code."""

import importlib.util
from pathlib import Path

import pytest

import surrogate

DOCS = Path(__file__).parents[2] / "docs"
spec = importlib.util.spec_from_file_location("generate_catalogue", DOCS / "generate_catalogue.py")
page = importlib.util.module_from_spec(spec)
spec.loader.exec_module(page)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return page.write(tmp_path_factory.mktemp("generated"), ["clip", "abs"])


def test_there_is_a_section_per_op_and_per_gradient(written):
    text = written.read_text()
    for op in ("clip", "abs"):
        assert f"## `{op}`\n" in text
        for name in surrogate.gradients(op):
            assert f"({op}-{name})=\n### `{op}:{name}`\n" in text


def test_every_picture_of_the_page_exists(written):
    names = [
        line.split("](")[1].rstrip(")") for line in written.read_text().splitlines() if line.startswith("![")
    ]
    assert len(names) == 2 + len(surrogate.gradients("clip")) + len(surrogate.gradients("abs"))
    assert all((written.parent / name).stat().st_size > 1000 for name in names)


def test_presets_are_listed_with_their_notes(written):
    text = written.read_text()
    assert "| `brevitas:scalar_clamp_ste` | `identity` |" in text


def test_a_docstring_is_taken_literally():
    assert page.escape("1[|x| <= 2]*a_b ``code_x``") == r"1\[\|x\| \<= 2\]\*a\_b `code_x`"
