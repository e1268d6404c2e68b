"""The audit on programs that it was not written for: every planted line is named, no sound one is."""

import importlib.util
import inspect
import re
from pathlib import Path

import pytest

import surrogate

_spec = importlib.util.spec_from_file_location("audit_fresh", Path(__file__).with_name("audit_fresh.py"))
programs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(programs)

NAMES = sorted(name for name in vars(programs) if re.fullmatch(r"[pc]\d\d", name))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_the_lines_at_fault_are_named_and_no_sound_one(name):
    build = getattr(programs, name)
    lines, first = inspect.getsourcelines(build)
    marks = {
        first + n: (mark[1].split("|"), mark[2].split("|"))
        for n, line in enumerate(lines)
        if (mark := re.search(r"#! ([\w|]+):([\w|*]+)", line))
    }
    sound = {first + n for n, line in enumerate(lines) if "#= " in line}
    function, arguments = build()
    report = surrogate.audit("torch", function, *arguments)
    found = {f.where.line: f for f in report.findings if f.at_least("warning")}
    for line, (kinds, ops) in marks.items():
        assert line in found, str(report)
        assert found[line].kind in kinds
        assert ops == ["*"] or found[line].op in ops
    assert not sound & set(found), str(report)


def test_there_are_as_many_as_it_says():
    assert [sum(name[0] == kind for name in NAMES) for kind in "pc"] == [20, 10]
