"""The worked example of CONTRIBUTING: its diff applies, is as small as the page says, and the op works."""

import difflib
import json
import re
import runpy
import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def example(root):
    return runpy.run_path(str(root / "docs" / "examples" / "add_an_op.py"))


@pytest.fixture(scope="module")
def copy(example, tmp_path_factory):
    """The library with the op."""
    folder = tmp_path_factory.mktemp("add_an_op") / "copy"
    folder.mkdir()
    example["replay"](folder)  # it fails where a file has changed beside a line of the diff: write that anew
    return folder


def test_it_takes_the_files_and_lines_that_contributing_says(root, copy, example):
    changed = {}
    for package in example["PACKAGES"]:
        for path in (copy / package).rglob("*.py"):
            name = path.relative_to(copy).as_posix()
            old, new = (root / name).read_text().splitlines(), path.read_text().splitlines()
            if old != new:
                changes = [line[0] for line in difflib.ndiff(old, new)]
                changed[name] = changes.count("+"), changes.count("-")
    page = (root / "CONTRIBUTING.md").read_text().partition("## Add an op")[2].partition("\n## ")[0]
    rows = re.findall(r"^\|.*\| `(\S+\.py)` \| (\d+) \|$", page, re.MULTILINE)
    told = {name: (int(lines), 0) for name, lines in rows}
    assert changed == told
    assert f"{len(changed)} files and {sum(added for added, _ in changed.values())} lines" in page


def test_the_op_has_its_value_and_its_gradient(copy):
    code = (
        "import json, numpy, surrogate; x = numpy.array([-1.0, 0.0, 3.0]); "
        "print(json.dumps([surrogate.reference.forward('expm1', x).tolist(), "
        "surrogate.reference.vjp('expm1', 'bounded', x, g=2.0)[0].tolist()]))"
    )
    shown = subprocess.check_output([sys.executable, "-c", code], cwd=copy, text=True)
    value, gradient = json.loads(shown)
    assert value == pytest.approx([-0.6321205588285577, 0.0, 19.085536923187668], rel=1e-15)
    assert gradient == pytest.approx([2 * 0.36787944117144233, 2.0, 2.0], rel=1e-15)
