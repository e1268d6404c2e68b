"""Learned parameters of a gradient: tensors beside the op's inputs, eager and compiled."""

import copy
import pickle
from collections.abc import Callable
from typing import NamedTuple

import pytest
import surrogate_torch
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import surrogate

GENERATOR = torch.Generator().manual_seed(0)
X = torch.randn(3, 5, dtype=torch.float64, generator=GENERATOR, requires_grad=True)
G = torch.randn(3, 5, dtype=torch.float64, generator=GENERATOR)


@pytest.fixture(params=[(), (5,), (3, 1)], ids=str)
def slope(request):
    return torch.rand(request.param, dtype=torch.float64, generator=GENERATOR).add(0.5).requires_grad_()


def under(op, slope, function, name="tanh", parameter="slope"):
    def run(x):
        with surrogate.override("torch", {op: surrogate.gradient(op, name, **{parameter: slope})}):
            return function(x)

    return run


def slopes(function, slope, **options):
    return torch.autograd.grad(function(X), [X, slope], G, **options)


def same(found, wanted):
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours.shape == theirs.shape
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-13)


class Case(NamedTuple):
    """A function with an op, and the one whose derivative the op's gradient is."""

    op: str
    gradient: str
    parameter: str
    function: Callable[..., torch.Tensor]
    primitive: Callable[..., torch.Tensor]


def clipped(x):
    return x.clamp(-0.5, 0.5)


def arctan(x, a):
    return torch.atan(torch.pi / 2 * a * x) * 2 / torch.pi


def step(x):
    return torch.heaviside(x, torch.ones_like(x))


OPS = {
    "unary": Case("sign", "tanh", "slope", torch.sign, lambda x, k: torch.tanh(k * x)),
    "method": Case("sign", "arctan", "alpha", lambda x: x.sign(), arctan),
    "in place": Case("sign", "tanh", "slope", lambda x: (x * 1).sign_(), lambda x, k: torch.tanh(k * x)),
    "two inputs": Case("heaviside", "sigmoid", "slope", step, lambda x, k: torch.sigmoid(k * x)),
    "bounds": Case("clip", "leaky", "leak", clipped, lambda x, k: clipped(x) + k * (x - clipped(x))),
    "comparison": Case(
        "greater",
        "tanh",
        "slope",
        lambda x: (x > 0.5).double(),
        lambda x, k: torch.tanh(k * (x - 0.5)) / 2,
    ),
}


@pytest.mark.parametrize("case", OPS)
def test_the_cotangent_is_that_of_the_primitive(slope, case):
    op, name, parameter, function, primitive = OPS[case]
    ours = under(op, slope, function, name, parameter)
    same(slopes(ours, slope), slopes(lambda x: primitive(x, slope), slope))
    constant = torch.autograd.grad(ours(X.detach()), slope, G)
    same(constant, torch.autograd.grad(primitive(X.detach(), slope), slope, G))


def test_second_derivatives_and_transforms(slope):
    ours, primitive = under("sign", slope, torch.sign), lambda x: torch.tanh(slope * x)
    second = [
        torch.autograd.grad(slopes(f, slope, create_graph=True)[1].sum(), [X, slope])
        for f in (ours, primitive)
    ]
    same(*second)

    def loss(k):
        return (under("sign", k, torch.sign)(X.detach()) * G).sum()

    found = torch.func.grad(loss)(slope.detach())
    same([found], slopes(primitive, slope)[1:])
    moved = torch.func.jvp(loss, (slope.detach(),), (torch.ones_like(slope),))[1]
    torch.testing.assert_close(moved, found.sum(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("reentrant", [False, True])
def test_in_a_checkpoint(slope, reentrant):
    ours = under("sign", slope, torch.sign)
    found = slopes(lambda x: checkpoint(ours, x, use_reentrant=reentrant), slope) if not reentrant else None
    if reentrant:  # it differentiates by .backward()
        y = checkpoint(ours, X, use_reentrant=True)
        x, k = X.grad, slope.grad
        y.backward(G)
        found, X.grad, slope.grad = (X.grad, slope.grad), x, k
    same(found, slopes(lambda x: torch.tanh(slope * x), slope))


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_compiled_once_while_it_learns(backend):
    torch.compiler.reset()
    slope = torch.tensor([0.5, 1.0, 1.5, 2.0, 2.5], dtype=torch.float64, requires_grad=True)
    run = torch.compile(lambda x: torch.sign(x) * 2 + (x * 2).sign(), fullgraph=True, backend=backend)

    def primitive(x):
        return 2 * torch.tanh(slope * x) + torch.tanh(slope * 2 * x)

    torch._dynamo.utils.counters.clear()
    rules = {"sign": surrogate.gradient("sign", "tanh", slope=slope)}
    for _ in range(3):
        with surrogate.override("torch", rules):
            found = slopes(run, slope)
        same(found, slopes(primitive, slope))
        with torch.no_grad():
            slope.sub_(0.01 * found[1])
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


def test_compiled_with_the_block_inside(slope):
    torch.compiler.reset()
    rules = {"sign": surrogate.gradient("sign", "tanh", slope=slope)}

    def function(x):
        with surrogate.override("torch", rules):
            return torch.sign(x)

    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    same(slopes(compiled, slope), slopes(lambda x: torch.tanh(slope * x), slope))


class Making(nn.Module):
    """Makes its gradient in every forward, of a number that is learned in another scale."""

    def __init__(self, slope):
        super().__init__()
        self.log = nn.Parameter(slope.detach().log())

    def forward(self, x):
        tanh = surrogate.gradient("sign", "tanh", slope=self.log.exp())
        with surrogate.override("torch", {"sign": tanh}):
            return torch.sign(x) * 2


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_made_inside_of_a_full_graph(slope, backend):
    torch.compiler.reset()
    torch._dynamo.utils.counters.clear()
    module = Making(slope)
    compiled = torch.compile(module, fullgraph=True, backend=backend)
    for _ in range(3):
        found = slopes(compiled, module.log)
        same(found, slopes(lambda x: 2 * torch.tanh(module.log.exp() * x), module.log))
        with torch.no_grad():
            module.log.sub_(0.01 * found[1])
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


def test_numbers_and_variables_in_a_gradient_that_a_full_graph_makes():
    torch.compiler.reset()
    k = surrogate.Variable(0.5)

    @torch.compile(fullgraph=True, backend="aot_eager")
    def compiled(x):
        rules = {
            "sign": surrogate.gradient("sign", "tanh", slope=2.0),
            "round": surrogate.gradient("round", "soft_round", alpha=k),
        }
        with surrogate.override("torch", rules):
            return torch.sign(x) + torch.round(x)

    for value in (0.5, 4.0):
        k.value = value
        (found,) = torch.autograd.grad(compiled(X), X, G)
        x, g = X.detach().numpy(), G.numpy()
        tanh = surrogate.reference.vjp("sign", "tanh(slope=2.0)", x, g=g)[0]
        soft = surrogate.reference.vjp("round", f"soft_round(alpha={value})", x, g=g)[0]
        torch.testing.assert_close(found, torch.from_numpy(tanh + soft), rtol=1e-12, atol=1e-13)


class Soft(nn.Module):
    def __init__(self):
        super().__init__()
        self.slope = nn.Parameter(torch.tensor(1.5, dtype=torch.float64))
        surrogate_torch.attach(self, {"sign": surrogate.gradient("sign", "tanh", slope=self.slope)})

    def forward(self, x):
        return torch.sign(x)


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["deepcopy", "pickle"]
)
def test_a_copied_module_learns_its_own(copied):
    module = copied(Soft())
    assert list(module.state_dict()) == ["slope"]
    same(slopes(module, module.slope), slopes(lambda x: torch.tanh(module.slope * x), module.slope))


def test_a_frozen_one_is_a_constant_again_and_another_frameworks_is_refused(slope):
    ours = under("sign", slope, torch.sign)
    slope.requires_grad_(False)
    (found,) = torch.autograd.grad(ours(X), X, G)
    same([found], torch.autograd.grad(torch.tanh(slope * X), X, G))
    with pytest.raises(surrogate.ParameterError, match="does not say what its derivative by o is"):
        surrogate.gradient("sign", "reste", o=torch.tensor(3.0, requires_grad=True))
