"""Every way by which a call under a rule stays native says why."""

import pytest
import torch

import surrogate

NOT_RECORDED, NOT_FLOATING = "no gradient is recorded", "not a real floating-point tensor"
OWN = "called by a function of PyTorch's"


def leaf():
    return torch.tensor([[-0.5, 2.0, 1.0], [3.0, 0.5, -1.0]], requires_grad=True)


@pytest.mark.filterwarnings("ignore::surrogate.NothingCapturedWarning")
@pytest.mark.parametrize(
    ("rule", "f", "why"),
    [
        ("sign:identity", lambda: torch.sign(torch.ones(2)), NOT_RECORDED),
        ("sign:identity", lambda: torch.ones(2).sign_(), NOT_RECORDED),
        ("mod:identity", lambda: torch.ones(2) % 2, NOT_RECORDED),
        ("greater:arctan", lambda: torch.ones(2) > 0, NOT_RECORDED),
        ("abs:sign0", lambda: torch.abs(torch.tensor([-1])), NOT_FLOATING),
        ("mod:identity", lambda: torch.tensor([3]) % 2, NOT_FLOATING),
        ("greater:arctan", lambda: torch.tensor([3]) > 2, NOT_FLOATING),
        ("clip:closed", lambda: torch.nn.functional.normalize(leaf(), dim=0), OWN),  # written in Python
        ("clip:closed", lambda: torch.corrcoef(leaf()), OWN),  # composed in C++
        ("sign:identity", lambda: leaf().abs().sum().backward(), OWN),  # a node's own derivative
    ],
)
def test_it_says_why(rule, f, why):
    op, _, spec = rule.partition(":")
    with surrogate.override("torch", {op: spec}, trace=True) as block:
        f()
    assert (op, why) in {(row.op, row.why) for row in block.captures}
    assert [row for row in block.captures if not row.why] == []


def test_a_formula_s_own_calls_are_not_told():
    with surrogate.override("torch", {"sign": "tanh", "abs": "sign0"}, trace=True) as block:
        torch.sign(leaf()).sum().backward()
    assert [(row.op, row.why) for row in block.captures] == [("sign", "")]
