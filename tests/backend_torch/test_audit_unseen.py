"""The audit on programs whose author had not read its rules, and on the kinds of faults that they showed."""

import pytest
import torch
from planted import plant
from torch_unseen import CLEAN, PLANTED

import surrogate

W = torch.tensor([[0.1, 0.5, -0.3], [0.2, 1.0, 0.4]], requires_grad=True)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.mark.filterwarnings("ignore")  # frameworks warn of some of these faults
@pytest.mark.parametrize("build", PLANTED, ids=lambda build: build.__name__)
def test_the_planted_line_is_named_and_no_other(build):
    program, args, options = build()
    report = surrogate.audit("torch", program, *args, **options)
    assert plant(build).found(report), str(report)
    assert {f.kind for f in plant(build).others(report)} <= {*plant(build).kinds}, str(report)


@pytest.mark.parametrize("build", CLEAN, ids=lambda build: build.__name__)
def test_a_sound_program_has_no_finding(build):
    program, args, options = build()
    report = surrogate.audit("torch", program, *args, **options)
    assert not report.shown(), str(report)
    assert not report.unreached


def _softmax(w):
    e = torch.exp(w - w.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


def of_a_softmax_by_hand(w):
    return torch.mean(torch.log(_softmax(w)))


def of_a_class_of_it(w):
    return -torch.mean(torch.log(_softmax(w)[:, 1]))


def of_a_sigmoid_by_hand(w):
    return torch.mean(torch.log(1.0 / (1.0 + torch.exp(-w))))


def of_a_sigmoid_by_a_quotient(w):
    return torch.mean(torch.log(torch.exp(w) / (1.0 + torch.exp(w))))


def of_one_less(w):
    return torch.mean(torch.log(1.0 - torch.sigmoid(w)))


def of_one_less_a_softmax(w):
    return torch.mean(torch.log(1 - _softmax(w)))


def by_log1p(w):
    return torch.mean(torch.log1p(-(torch.sigmoid(w))))


LOGARITHMS = [
    of_a_softmax_by_hand, of_a_class_of_it, of_a_sigmoid_by_hand, of_a_sigmoid_by_a_quotient, of_one_less,
    of_one_less_a_softmax, by_log1p,
]  # fmt: skip


@pytest.mark.parametrize("program", LOGARITHMS, ids=lambda program: program.__name__)
def test_a_logarithm_of_a_probability_is_unstable(program):
    found = {f.where.line: f.op for f in surrogate.audit("torch", program, W).shown() if f.op != "exp"}
    op = "log1p" if program is by_log1p else "log"
    assert found == {program.__code__.co_firstlineno + 1: op}


def test_a_logarithm_with_an_epsilon_is_sound():
    def loss(w):
        return torch.mean(torch.log(1.0 - _softmax(w) + 1e-6) + torch.log(_softmax(w) + 1e-6))

    assert surrogate.audit("torch", loss, W).ok()


def test_a_loop_without_a_layer_explodes_or_vanishes():
    def growing(x):
        for _ in range(24):
            x = 3.0 * x
        return x

    def fading(x):
        for _ in range(24):
            x = torch.tanh(0.2 * x)
        return torch.mean(x)

    def average(x):
        mean = x
        for _ in range(24):
            mean = 0.5 * mean + 0.5 * x * x
        return torch.mean(mean)

    one = torch.tensor(1.0, requires_grad=True)
    found = [[f.kind for f in surrogate.audit("torch", p, one).shown()] for p in (growing, fading, average)]
    assert found == [["exploding"], ["vanishing"], []]


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
