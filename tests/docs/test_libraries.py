"""The page of image libraries is what its data say."""

import json
import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
TABLES = runpy.run_path(str(DOCS / "library_tables.py"))


def test_the_page_is_written_from_its_data():
    assert TABLES["PAGE"].read_text(encoding="utf-8") == TABLES["page"](), "run docs/library_tables.py page"


@pytest.mark.parametrize("library", TABLES["LIBRARIES"])
def test_a_row_says_why_an_argument_has_no_gradient(library):
    data = json.loads((TABLES["DATA"] / f"{library}.json").read_text(encoding="utf-8"))
    assert len(data["rows"]) >= 30
    for row in data["rows"]:
        if "cut" in row["by"].values() or "zero" in row["by"].values():
            assert row["lost"], row["name"]
