"""Programs that nobody tuned on: every planted line is named by its kind and op, and no other line."""

import inspect
import re

import pytest
import torch
from audit_third import PLANTED, SOUND, W

import surrogate


@pytest.mark.parametrize("program", [*PLANTED, *SOUND], ids=lambda p: p.__name__)
def test_the_planted_line_and_no_other(program):
    lines, start = inspect.getsourcelines(program)
    marks = {
        start + number: (found[1], found[2].split("|"))
        for number, text in enumerate(lines)
        if (found := re.search(r"#! (\w+):([\w|]+)", text))
    }
    torch.manual_seed(0)
    report = surrogate.audit("torch", program, W.clone().requires_grad_())
    told = [f for f in report.findings if f.at_least("warning")]
    assert {f.where.line for f in told} == marks.keys()
    for line, (kind, ops) in marks.items():
        assert any(f.kind == kind and f.op in ops for f in told if f.where.line == line)
