"""Watching a PyTorch program until it asks for a gradient."""

import pytest
import torch
from torch import nn

import surrogate
from surrogate.auditing import report_of


class Stop(BaseException):
    pass


def watched(program, *, step=1, stop=True):
    """The reports of what was caught, and whether the program came to its end."""
    found = []

    def caught(trace):
        found.append(report_of(trace, level="info"))
        if stop:
            raise Stop

    with surrogate.load_backend("torch").intercept(caught, step=step):
        try:
            program()
        except Stop:
            return found, False
    return found, True


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 4), nn.Linear(4, 1)

    def forward(self, x):
        return self.b(torch.round(self.a(x) * 8))


def train(steps=3, log=None):
    torch.manual_seed(0)
    net = Net()
    optimiser = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(steps):
        loss = net(torch.randn(5, 3)).pow(2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if log is not None:
            log.append(loss.item())
    return net


def cut(report):
    return {f.op: f.reaches for f in report.findings if f.severity == "error"}


@pytest.mark.parametrize("step", [1, 2, 3])
def test_the_step_asked_for_is_audited_and_the_program_stopped(step):
    log = []
    (report,), ended = watched(lambda: train(log=log), step=step)
    assert cut(report) == {"round": ("a.bias", "a.weight")}
    assert not ended
    assert len(log) == step - 1
    assert report.gradients["b.weight"] > 0


def test_fewer_gradients_than_asked_for():
    assert watched(train, step=4) == ([], True)


def test_a_program_that_goes_on_computes_what_it_would_have():
    alone, watched_too = [], []
    net = train(log=alone)
    (report,), ended = watched(lambda: train(log=watched_too), step=2, stop=False)
    assert ended
    assert watched_too == alone
    assert report.sources == len([*net.parameters()])


@pytest.mark.parametrize("stop", [True, False])
def test_nothing_is_replaced_afterwards(stop):
    before = torch.Tensor.backward, torch.autograd.backward, torch.autograd.grad
    watched(train, stop=stop)
    with pytest.raises(ZeroDivisionError):
        watched(lambda: 1 / 0)
    assert (torch.Tensor.backward, torch.autograd.backward, torch.autograd.grad) == before
    assert torch._C._len_torch_dispatch_stack() == torch._C._len_torch_function_stack() == 0


def test_a_gradient_of_named_inputs():
    def program():
        x, y = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
        torch.autograd.grad((torch.sign(x) + y).sum(), [x, y])

    ((report,), _) = watched(program)
    assert cut(report) == {"sign": ("input0",)}


def test_an_inner_gradient_is_part_of_the_loss():
    def program():
        net, x = nn.Linear(3, 1), torch.ones(2, 3, requires_grad=True)
        (g,) = torch.autograd.grad(torch.tanh(net(x)).sum(), x, create_graph=True)
        (g.norm(dim=1) - 1).pow(2).mean().backward()

    ((report,), _) = watched(program)
    assert cut(report) == {}
    assert report.unreached == {}


def test_two_networks_have_the_names_of_their_variables():
    def program():
        g, d = nn.Linear(2, 3), nn.Linear(3, 1)
        d(g(torch.ones(1, 2)).detach()).sum().backward()

    ((report,), _) = watched(program)
    assert set(report.unreached) == {"g.weight", "g.bias"}
    assert report.gradients.keys() == {"g.weight", "g.bias", "d.weight", "d.bias"}


def test_a_network_of_somebody_else_is_left_out():
    others = [Net()]  # named by no frame of the program

    def program():
        net = Net()
        net(torch.ones(2, 3)).sum().backward()

    ((report,), _) = watched(program)
    assert others[0].a.weight.grad is None
    assert cut(report) == {"round": ("a.bias", "a.weight")}
    assert report.gradients.keys() == {"a.weight", "a.bias", "b.weight", "b.bias"}


def test_a_loss_that_was_begun_before_another_gradient():
    def program():
        g, d = nn.Linear(2, 3), nn.Linear(3, 1)
        fake = torch.round(g(torch.ones(1, 2)))
        d(fake.detach()).sum().backward()
        d(fake).sum().backward()

    ((report,), _) = watched(program, step=2)
    assert cut(report) == {"round": ("g.bias", "g.weight")}


def test_a_backward_pass_of_a_vector():
    def program():
        w = torch.ones(3, requires_grad=True)
        (w * torch.floor(w)).backward(torch.tensor([1.0, 2.0, 3.0]))

    ((report,), _) = watched(program)
    assert report.gradients == {"w": pytest.approx(14**0.5)}


def test_a_compiled_model():
    def program():
        net = torch.compile(Net(), backend="eager")
        net(torch.ones(2, 3)).sum().backward()

    ((report,), _) = watched(program)
    assert cut(report) == {"round": ("a.bias", "a.weight")}
