"""Rules by place in autograd: five sound patterns of other people's code keep their derivative."""

import importlib

import autograd
import numpy as np
import pytest

import surrogate

RULES = {"round": "identity", "floor": "identity"}
OUTSIDE = ["stplib", "stp_beside"]

PATTERNS = """
import autograd.numpy as anp
from autograd.tracer import getval as stop

def minimum_image(d, box=3.0):
    return d - box * anp.round(d / box)

def wrapped_angle(x):
    return x - anp.floor(x)

def bilinear(x):
    low = anp.floor(x)
    weight = x - low
    return stop(low ** 2) * (1 - weight) + stop((low + 1) ** 2) * weight

def soft_round(x):
    return anp.round(x) + (x - anp.round(x)) ** 3

def by_hand(x):
    return anp.round(x) + (x - stop(x))

class Block:
    def __call__(self, x):
        return (lambda y: soft_round(y))(x) + [by_hand(x) for _ in range(1)][0]

ALL = (minimum_image, wrapped_angle, bilinear, soft_round, by_hand, Block())
"""

MINE = """
import autograd.numpy as anp

def quant(x):
    return anp.round(x)

class Act:
    def __call__(self, x):
        return anp.round(x)
"""


pytestmark = pytest.mark.filterwarnings("ignore:Output seems independent of input")  # autograd's word for 0


@pytest.fixture
def code(tmp_path, monkeypatch):
    """An installed package, and two files beside the script."""
    site = tmp_path / "site-packages" / "stplib"
    site.mkdir(parents=True)
    (site / "__init__.py").write_text("")
    (site / "geometry.py").write_text(PATTERNS)
    (tmp_path / "stp_beside.py").write_text(PATTERNS)
    (tmp_path / "stp_mine.py").write_text(MINE)
    monkeypatch.syspath_prepend(site.parent)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    names = ("stplib.geometry", "stp_beside", "stp_mine")
    yield [importlib.import_module(name) for name in names]
    for name in names:
        monkeypatch.delitem(importlib.sys.modules, name)


def slope(f):
    return autograd.elementwise_grad(f)(np.array([0.2, 0.7, 1.4, 2.6])).tolist()


MODES = pytest.mark.parametrize("run", [lambda f: f], ids=["eager"])


@MODES
@pytest.mark.parametrize("verb", [surrogate.use, surrogate.override])
def test_the_patterns_equal_native_where_they_are_left_out(code, run, verb):
    library, beside, mine = code
    native = [slope(f) for module in (library, beside) for f in module.ALL]
    with verb("autograd", RULES, outside=OUTSIDE) as handle:
        found = [slope(run(f)) for module in (library, beside) for f in module.ALL]
        own = slope(run(mine.quant))
    assert found == native
    assert native[0] == [1.0] * 4
    assert own == [1.0] * 4
    assert handle.hits["round"] >= 1
    assert handle.hits["floor"] == 0


@MODES
def test_without_places_the_patterns_break_as_the_page_says(code, run):
    wrong = {"minimum_image": 0.0, "wrapped_angle": 0.0, "by_hand": 2.0, "soft_round": 1.0}
    with surrogate.override("autograd", RULES):
        for f in code[0].ALL:
            if (expected := wrong.get(getattr(f, "__name__", ""))) is not None:
                assert slope(run(f)) == [expected] * 4


@MODES
@pytest.mark.parametrize("name", ["stp_mine", "stp_mine.Act", "stp_mine.Act.__call__"])
def test_rules_hold_within_a_module_a_class_or_a_method(code, run, name):
    with surrogate.override("autograd", RULES, within=name):
        assert slope(run(code[2].Act())) == [1.0] * 4
        assert slope(run(code[2].quant)) == ([1.0] * 4 if name == "stp_mine" else [0.0] * 4)
        assert slope(run(code[0].by_hand)) == [1.0] * 4


@MODES
def test_one_function_calls_code_of_several_places(code, run):
    library, _, mine = code
    act = mine.Act()

    def model(x):
        return mine.quant(x) * 10 + library.by_hand(x) + library.wrapped_angle(act(x))

    ran = run(model)
    for _ in range(2):  # off, on, off, another place
        assert slope(ran) == [1.0] * 4
        with surrogate.override("autograd", RULES, outside="stplib"):
            assert slope(ran) == [12.0] * 4
        assert slope(ran) == [1.0] * 4
        with surrogate.override("autograd", RULES, within="stp_mine.Act"):
            assert slope(ran) == [2.0] * 4


@MODES
def test_captures_tell_line_and_function(code, run):
    with surrogate.override("autograd", RULES, outside="stplib", trace=True) as block:
        slope(run(code[2].Act()))
        slope(run(code[0].wrapped_angle))
    rows = {(row.op, row.gradient, row.line, row.function, row.why) for row in block.captures}
    assert ("round", "identity", 9, "stp_mine.Act.__call__", "") in rows
    assert ("floor", "", 9, "stplib.geometry.wrapped_angle", "not outside='stplib'") in rows
    assert len(rows) == 2, rows
