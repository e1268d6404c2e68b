"""What the page of image libraries says of Keras's layers is what an audit says of them now."""

import json
import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
TABLES = runpy.run_path(str(DOCS / "library_tables.py"))
ROWS = {row["name"]: row for row in json.loads((TABLES["DATA"] / "keras.json").read_text())["rows"]}


def told(row):
    return row["by"], {(one["kind"], one["op"], one["severity"]) for one in row["lost"]}


@pytest.mark.parametrize(
    "name", ["Rescaling", "Normalization", "Resizing", "RandomFlip", "CategoryEncoding", "Discretization"]
)
def test_a_layer_is_as_its_row_says(name):
    (row,) = TABLES["table"]("keras", name)["rows"]
    assert told(row) == told(ROWS[name])
