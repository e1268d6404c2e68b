"""The teaching backend: its length, a newcomer's way to it, and that the kit rejects what is wrong in it."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import surrogate_tinytape

import surrogate
import tinytape
from surrogate.testing import check_backend

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "write-a-backend.md"
FILES = [PAGE.parent / name for name in re.findall(r"literalinclude\} (\S+)", PAGE.read_text())]


def test_the_backend_has_about_30_lines():
    source = Path(surrogate_tinytape.__file__).read_text()
    docstrings = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node)
        for line in range(node.body[0].lineno, node.body[0].end_lineno + 1)
    }
    code = [
        line
        for number, line in enumerate(source.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#") and number not in docstrings
    ]
    assert len(code) <= 32


def test_a_newcomer_who_copies_the_page_into_an_empty_folder_passes_the_kit(tmp_path):
    folder, site = tmp_path / "empty", tmp_path / "site"
    folder.mkdir()
    for file in FILES:
        shutil.copy(file, folder)
    install = ["pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target", str(site), "."]
    subprocess.run([sys.executable, "-m", *install], cwd=folder, check=True)
    environment = os.environ | {"PYTHONPATH": str(site)}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "test_conformance.py", "test_audit.py"],
        cwd=folder,
        env=environment,
        text=True,
        capture_output=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout
    assert re.search(r"^\d{3,} passed", run.stdout, re.MULTILINE)


# -- faults planted in the backend: each is rejected, and by the check that is there for it -----------------


class Correct(surrogate_tinytape.Tinytape):
    """The backend with its parts apart, so that each can be wrong alone."""

    name = "planted"
    transforms = frozenset({"residuals"})
    expected_failures = surrogate_tinytape.Tinytape.expected_failures | dict.fromkeys(
        ("residuals[mod:exact-*-number]", "residuals[mod:straight_through-*-number]"),
        "tinytape makes a tensor of a number, which then carries a gradient",
    )

    def catch(self, name, *inputs):
        state, output = self.state(), surrogate_tinytape.native_call(name, *inputs)
        gradient = self.look_up(state, name)
        if gradient is None or output.parents[0].data.dtype.kind != "f":
            return output
        self.count(state, name)
        arrays = [x.data for x in output.parents]
        saved = self.save(gradient.rule, arrays)
        self.saved = [x for x in saved if isinstance(x, np.ndarray)]
        output.data = self.value(output.data)
        output.back = lambda g: self.back(name, gradient.rule, saved, g, arrays)
        return output

    def look_up(self, state, name):
        return state.rules.get(name)

    def count(self, state, name):
        state.captured(name)

    def save(self, rule, arrays):
        return rule.save(self.xp, arrays)

    def value(self, y):
        return y

    def back(self, name, rule, saved, g, arrays):
        return rule.vjp(self.xp, saved, g)

    def driver(self):
        return Parts(self)

    def finished(self, y, found, inputs):
        return y, found


class Parts(surrogate_tinytape.Driver):
    def grad(self, f, inputs, g):
        return self.backend.finished(*super().grad(f, inputs, g), inputs)

    def residuals(self, f, inputs):
        f(*inputs)
        return sum(x.nbytes for x in self.backend.saved)


class Dropped(Correct):
    def back(self, name, rule, saved, g, arrays):
        return [np.zeros_like(g) for _ in arrays]


class OpenEdge(Correct):
    def save(self, rule, arrays):
        saved = rule.save(self.xp, arrays)
        return [x & (np.abs(arrays[0]) != 1) if x.dtype == bool else x for x in saved]


class FlippedQuadrant(Correct):
    def back(self, name, rule, saved, g, arrays):
        first, *rest = super().back(name, rule, saved, g, arrays)
        return [np.where((arrays[0] < 0) & (arrays[-1] < 0), -first, first), *rest]


class OneUlp(Correct):
    def value(self, y):
        return np.nextafter(y, np.array(np.inf, y.dtype))


class Wider(Correct):
    def finished(self, y, found, inputs):
        return y, tuple(tinytape.Tensor(x.data.astype(np.float64)) for x in found)


class Leaking(Correct):
    """Goes on with the last rule of an op when its block has ended."""

    def __init__(self):
        self.kept = {}

    def look_up(self, state, name):
        self.kept.update(state.rules)
        return self.kept.get(name)

    def count(self, state, name):
        if name in state.rules:
            state.captured(name)


class Mean(Correct):
    def back(self, name, rule, saved, g, arrays):
        return [
            c * x.size / max(g.size, 1)
            for c, x in zip(super().back(name, rule, saved, g, arrays), arrays, strict=True)
        ]


class BackwardTime(Correct):
    def back(self, name, rule, saved, g, arrays):
        now = self.state().rules.get(name)
        return (
            [g * 0] * len(arrays) if now is None else now.rule.vjp(self.xp, now.rule.save(self.xp, arrays), g)
        )


class Multiplied(Correct):
    def back(self, name, rule, saved, g, arrays):
        ones = rule.vjp(self.xp, saved, np.ones_like(g))
        return [c * g for c in ones]


class FloatMask(Correct):
    def save(self, rule, arrays):
        return [x.astype(np.float32) if x.dtype == bool else x for x in rule.save(self.xp, arrays)]

    def back(self, name, rule, saved, g, arrays):
        if rule.kept() is surrogate.Kind.MASK:
            saved = [x == 1 for x in saved]
        return rule.vjp(self.xp, saved, g)


class TheInput(Correct):
    def finished(self, y, found, inputs):
        return inputs[0], found


def rejected(backend):
    """The promises that the kit finds broken."""
    return {result.promise for result in check_backend(backend).failures}


def test_the_backend_in_parts_is_right():
    assert rejected(Correct()) == set()


@pytest.mark.parametrize(
    ("fault", "promise"),
    [
        (Dropped, "vjp"),
        (OpenEdge, "vjp"),
        (FlippedQuadrant, "vjp"),
        (OneUlp, "value"),
        (Wider, "dtype"),
        (Leaking, "scope"),
        (Mean, "shapes"),
        (BackwardTime, "scope"),
        (Multiplied, "select"),
        (FloatMask, "residuals"),
        (TheInput, "value"),
    ],
)
def test_a_planted_fault_is_rejected_by_the_check_that_is_there_for_it(fault, promise):
    assert promise in rejected(fault())


def test_a_broadcast_cotangent_that_is_not_summed_is_rejected(monkeypatch):
    monkeypatch.setattr(tinytape, "_sum_to", lambda g, shape: g)
    assert "shapes" in rejected(Correct())
