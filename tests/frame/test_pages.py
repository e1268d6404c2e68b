"""Committed pages that are written from the code are current, and a newcomer is led to what they look for."""

import re
import runpy

import pytest

import surrogate


@pytest.mark.parametrize("name", ["generate_gradients", "generate_hooks"])
def test_a_page_is_current(root, name):
    generator = runpy.run_path(str(root / "docs" / f"{name}.py"))
    assert generator["PAGE"].read_text() == generator["page"](), f"run docs/{name}.py"


def test_every_gradient_is_on_the_page(root):
    text = (root / "docs" / "gradients.md").read_text()
    every = [name for names in surrogate.gradients().values() for name in names]
    assert [name for name in every if f"| `{name}" not in text] == []


def links(root, page):
    """The pages of the repository that a page links to."""
    folder = (root / page).parent
    for target in re.findall(r"(?<!!)\[[^]]*\]\((?!https?:)([^)#]+)", (root / page).read_text()):
        if (folder / target).exists():
            yield str((folder / target).resolve().relative_to(root))


@pytest.mark.parametrize("start", ["README.md", "CONTRIBUTING.md"])
@pytest.mark.parametrize(
    ("sought", "says"),
    [
        ("docs/gradients.md", "## sign"),  # a formula
        ("docs/promises.md", "surrogate/testing/_values.py"),  # a promise's test
        ("docs/patched.md", "torch._C"),  # the list of what is patched
        ("CONTRIBUTING.md", "## Add an op"),
    ],
)
def test_a_newcomer_finds_it_in_three_steps(root, start, sought, says):
    assert says in (root / sought).read_text()
    found = {start}
    for _ in range(3):
        found |= {target for page in found if page.endswith(".md") for target in links(root, page)}
    assert sought in found


def test_what_an_op_takes_is_what_contributing_says(root):
    """The files that name ``maximum`` as an op, but for audits and for what becomes of discrete values."""
    told = (root / "CONTRIBUTING.md").read_text().partition("## Add an op")[2].partition("## Habits")[0]
    folders = [*(root / "backends").iterdir(), root / "surrogate", root / "surrogate" / "catalogue"]
    aside = re.compile(r"_audit.*|_consumers|_natives|_namespace|_saved_model|_near_misses|_numpy|_dual")
    naming = [
        path
        for folder in folders
        for path in folder.glob("*.py")
        if not aside.fullmatch(path.stem) and re.search(r"[\"']maximum[\"']", path.read_text())
    ]
    found = {path.name for path in naming if path.parent.name != "catalogue"}
    assert found <= set(re.findall(r"`(?:[\w/]+/)?(_\w+\.py)`", told))
    assert len(naming) <= 11
