"""The audit on programs whose author had not read its rules, and on the kinds of faults that they showed."""

from types import SimpleNamespace

import pytest
import torch
from torch_unseen import CLEAN, PLANTED
from unseen import Cases, has_no_finding, names_the_planted_line_and_no_other

import surrogate


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.mark.filterwarnings("ignore")  # frameworks warn of some of these faults
@pytest.mark.parametrize("build", PLANTED, ids=lambda build: build.__name__)
def test_the_planted_line_is_named_and_no_other(build):
    names_the_planted_line_and_no_other("torch", build)


@pytest.mark.parametrize("build", CLEAN, ids=lambda build: build.__name__)
def test_a_sound_program_has_no_finding(build):
    has_no_finding("torch", build)


class TestKinds(Cases):
    backend = "torch"
    F = SimpleNamespace(
        array=lambda x: torch.tensor(x, requires_grad=True),
        exp=torch.exp,
        log=torch.log,
        log1p=torch.log1p,
        tanh=torch.tanh,
        sigmoid=torch.sigmoid,
        mean=torch.mean,
        top=lambda w: w.amax(-1, keepdim=True),
        total=lambda e: e.sum(-1, keepdim=True),
    )


def test_a_training_step_that_returns_nothing_is_audited_and_left_as_it_was():
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
    optimizer, x = torch.optim.Adam(model.parameters()), torch.randn(8, 3)

    def train():
        for _ in range(2):
            optimizer.zero_grad()
            model[2](torch.round(model[1](model[0](x)))).pow(2).mean().backward()
            optimizer.step()

    before = {name: value.clone() for name, value in model.state_dict().items()}
    report = surrogate.audit("torch", train)
    assert report.unreached == dict.fromkeys(("0.weight", "0.bias", "1.weight", "1.bias"), "cut")
    assert report.verify().unreached == {}
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert not optimizer.state
    assert all(p.grad is None for p in model.parameters())
    assert str(surrogate.audit("torch", train)) == str(report)


def test_an_optimizer_keeps_the_state_that_it_had():
    w = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.Adam([w])

    def step():
        optimizer.zero_grad()
        loss = w.pow(2).sum()
        loss.backward()
        optimizer.step()
        return w.sum()

    step()
    before = {key: value.clone() for key, value in optimizer.state[w].items()}
    surrogate.audit("torch", step, wrt=[w])
    assert before.keys() == optimizer.state[w].keys()
    assert all(torch.equal(before[key], value) for key, value in optimizer.state[w].items())


def test_a_program_with_nothing_to_differentiate_is_refused():
    w = torch.nn.Parameter(torch.ones(3))
    with pytest.raises(surrogate.SpecError, match="returns no array and asks for no gradient"):
        surrogate.audit("torch", lambda: print(w.sum()), wrt=[w])


def test_a_model_that_returns_indices_is_cut_there():
    model = torch.nn.Linear(3, 4)
    report = surrogate.audit("torch", lambda x: model(x).argmax(1), torch.randn(5, 3))
    assert [(f.kind, f.op) for f in report.findings] == [("cut", "argmax")]
    assert report.unreached == {"weight": "cut", "bias": "cut"}


def test_wrt_is_arrays_names_or_a_mapping():
    model = torch.nn.Linear(3, 2)
    x, bias = torch.randn(4, 3), model.bias
    for wrt, name in ((bias, "bias"), ([bias], "bias"), ("bias", "bias"), ({"mine": bias}, "mine")):
        assert list(surrogate.audit("torch", model, x, wrt=wrt).gradients) == [name]
    with pytest.raises(surrogate.SpecError, match="no 'gain'"):
        surrogate.audit("torch", model, x, wrt="gain")
