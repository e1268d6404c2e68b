"""Rules by place, the same in every framework: five sound patterns of other people's code keep their slope.

A backend's test class says how its framework is written and run.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import pytest

import surrogate

RULES = {"round": "identity", "floor": "identity"}
OUTSIDE = ["stplib", "stp_beside"]

#: ``np`` has round and floor, ``stop`` stops a gradient.
PATTERNS = """
def minimum_image(d, box=3.0):
    return d - box * np.round(d / box)

def wrapped_angle(x):
    return x - np.floor(x)

def bilinear(x):
    low = np.floor(x)
    weight = x - low
    return stop(low ** 2) * (1 - weight) + stop((low + 1) ** 2) * weight

def soft_round(x):
    return np.round(x) + (x - np.round(x)) ** 3

def by_hand(x):
    return np.round(x) + (x - stop(x))

class Block:
    def __call__(self, x):
        return (lambda y: soft_round(y))(x) + [by_hand(x) for _ in range(1)][0]

ALL = (minimum_image, wrapped_angle, bilinear, soft_round, by_hand, Block())
"""

MINE = """

def quant(x):
    return np.round(x)

class Act:
    def __call__(self, x):
        return np.round(x)
"""


@pytest.fixture
def code(request, tmp_path, monkeypatch):
    """An installed package, and two files beside the script."""
    head = request.cls.imports
    site = tmp_path / "site-packages" / "stplib"
    site.mkdir(parents=True)
    (site / "__init__.py").write_text("")
    (site / "geometry.py").write_text(head + PATTERNS)
    (tmp_path / "stp_beside.py").write_text(head + PATTERNS)
    (tmp_path / "stp_mine.py").write_text(head + MINE)
    monkeypatch.syspath_prepend(site.parent)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    names = ("stplib.geometry", "stp_beside", "stp_mine")
    yield [importlib.import_module(name) for name in names]
    for name in names:
        monkeypatch.delitem(sys.modules, name)


def line(text: str, source: str) -> int:
    """The line of a source that ends in a text."""
    return next(n for n, found in enumerate(source.splitlines(), 1) if found.endswith(text))


class Cases:
    """What every backend with places must show.

    Attributes:
        backend: its name.
        imports: a line that brings ``np`` and ``stop``.
        modes: what runs a function: eagerly, compiled.
    """

    backend: ClassVar[str]
    imports: ClassVar[str]
    modes: ClassVar[Mapping[str, Callable[[Any], Any]]]

    @staticmethod
    def slope(f: Callable[[Any], Any]) -> list[float]:
        """The slope of f at 0.2, 0.7, 1.4 and 2.6."""
        raise NotImplementedError

    def pytest_generate_tests(self, metafunc):
        if "run" in metafunc.fixturenames:
            metafunc.parametrize("run", list(self.modes.values()), ids=list(self.modes))

    @pytest.mark.parametrize("verb", [surrogate.use, surrogate.override])
    def test_the_patterns_equal_native_where_they_are_left_out(self, code, run, verb):
        library, beside, mine = code
        native = [self.slope(f) for module in (library, beside) for f in module.ALL]
        with verb(self.backend, RULES, outside=OUTSIDE) as handle:
            found = [self.slope(run(f)) for module in (library, beside) for f in module.ALL]
            own = self.slope(run(mine.quant))
        assert found == native
        assert native[0] == [1.0] * 4
        assert own == [1.0] * 4
        assert handle.hits["round"] >= 1
        assert handle.hits["floor"] == 0

    def test_without_places_the_patterns_break_as_the_page_says(self, code, run):
        wrong = {"minimum_image": 0.0, "wrapped_angle": 0.0, "by_hand": 2.0, "soft_round": 1.0}
        with surrogate.override(self.backend, RULES):
            for f in code[0].ALL:
                if (expected := wrong.get(getattr(f, "__name__", ""))) is not None:
                    assert self.slope(run(f)) == [expected] * 4

    @pytest.mark.parametrize("name", ["stp_mine", "stp_mine.Act", "stp_mine.Act.__call__"])
    def test_rules_hold_within_a_module_a_class_or_a_method(self, code, run, name):
        with surrogate.override(self.backend, RULES, within=name):
            assert self.slope(run(code[2].Act())) == [1.0] * 4
            assert self.slope(run(code[2].quant)) == ([1.0] * 4 if name == "stp_mine" else [0.0] * 4)
            assert self.slope(run(code[0].by_hand)) == [1.0] * 4

    def test_one_function_calls_code_of_several_places(self, code, run):
        library, _, mine = code
        act = mine.Act()

        def model(x):
            return mine.quant(x) * 10 + library.by_hand(x) + library.wrapped_angle(act(x))

        ran = run(model)
        for _ in range(2):  # off, on, off, another place
            assert self.slope(ran) == [1.0] * 4
            with surrogate.override(self.backend, RULES, outside="stplib"):
                assert self.slope(ran) == [12.0] * 4
            assert self.slope(ran) == [1.0] * 4
            with surrogate.override(self.backend, RULES, within="stp_mine.Act"):
                assert self.slope(ran) == [2.0] * 4

    def test_captures_tell_line_and_function(self, code, run):
        with surrogate.override(self.backend, RULES, outside="stplib", trace=True) as block:
            self.slope(run(code[2].Act()))
            self.slope(run(code[0].wrapped_angle))
        rows = {(row.op, row.gradient, row.line, row.function, row.why) for row in block.captures}
        act, angle = (
            line("        return np.round(x)", self.imports + MINE),
            line("x - np.floor(x)", self.imports + PATTERNS),
        )
        assert ("round", "identity", act, "stp_mine.Act.__call__", "") in rows
        assert ("floor", "", angle, "stplib.geometry.wrapped_angle", "not outside='stplib'") in rows
        assert len(rows) == 2, rows


class CompiledCases(Cases):
    """The same where functions are traced.

    Attributes:
        shared: the framework's round, compiled as it is.
    """

    shared: ClassVar[Callable[[Any], Any]]

    def test_what_is_traced_once_for_all_callers_is_nobodys(self, code):
        shared = type(self).shared
        with surrogate.override(self.backend, RULES, within="stp_mine"):
            code[2].shared = shared
            exec("def first(x): return shared(x) + quant(x) * 10", vars(code[2]))
            assert self.slope(code[2].first) == [10.0] * 4
            assert self.slope(lambda x: shared(x) + x) == [1.0] * 4
        with surrogate.override(self.backend, RULES, outside="stp_mine"):
            assert self.slope(code[2].first) == [1.0] * 4
