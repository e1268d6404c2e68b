"""What is the same idea in every backend stands in a file of the same name, as CONTRIBUTING says."""

import re

import pytest

BACKENDS = ("autograd", "jax", "tensorflow", "torch")


def modules(root, backend):
    return {path.stem for path in (root / "backends" / f"surrogate_{backend}").glob("*.py")}


def promised(root):
    """The files that CONTRIBUTING says to be in every backend."""
    paragraphs = (root / "CONTRIBUTING.md").read_text().split("\n\n")
    (said,) = (one for one in paragraphs if one.startswith("Files of the same name in every backend:"))
    return re.findall(r"`(_\w+)\.py`", said)


def test_contributing_names_the_files_that_all_backends_share(root):
    shared = set.intersection(*(modules(root, backend) for backend in BACKENDS)) - {"__init__"}
    audit = {name for name in shared if name.startswith("_audit")}
    assert set(promised(root)) == shared - audit


@pytest.mark.parametrize("names", [("_origin", "_origins"), ("_ops", "_spellings"), ("_kit", "_driver")])
def test_one_idea_has_one_file_name(root, names):
    used = {name for backend in BACKENDS for name in modules(root, backend) if name in names}
    assert used == {names[1]}


@pytest.mark.parametrize("backend", BACKENDS)
def test_formulas_run_suspended_whatever_the_backend(root, backend):
    """One word for "without overrides": in every backend's scope."""
    source = (root / "backends" / f"surrogate_{backend}" / "_scope.py").read_text()
    assert re.search(r"\bsuspended\b", source)
