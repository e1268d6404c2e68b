"""Ops that change their tensor: in its own memory where possible, with the gradient they have elsewhere."""

import pytest
import torch
from torch import nn
from torch.autograd import forward_ad
from torch.utils.checkpoint import checkpoint

import surrogate
from surrogate import reference

X = torch.tensor([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 7.0], dtype=torch.float64)
G = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], dtype=torch.float64)
RULES = {
    "sign": "hardtanh",
    "relu": "leaky(leak=0.25)",
    "relu6": "identity",
    "clip": "leaky(leak=0.5)",
    "round": "clipped(lo=-1, hi=1)",
    "floor": "zero",
    "mod": "identity",
    "abs": "sign0",
}
OPS = {
    "sign_": ((), lambda x: x.sign_()),
    "relu_": ((), nn.ReLU(inplace=True)),
    "relu6_": ((), nn.ReLU6(inplace=True)),
    "clamp_": ((-1.0, 1.0), lambda x: x.clamp_(-1, 1)),
    "round_": ((), lambda x: x.round_(decimals=1)),
    "floor_": ((), lambda x: x.floor_()),
    "remainder_": ((0.7,), lambda x: x.remainder_(0.7)),
    "abs_, which keeps its input": ((), lambda x: x.abs_()),
}
OP = {"remainder_": "mod", "clamp_": "clip"}
DECIMALS = {"round_": {"decimals": 1}}


@pytest.fixture(autouse=True)
def rules():
    with surrogate.override("torch", RULES) as override:
        yield override


def expected(name):
    others, _ = OPS[name]
    op = OP.get(name, name.partition("_")[0])
    return reference.vjp(op, RULES[op], X.numpy(), *others, g=G.numpy(), **DECIMALS.get(name, {}))[0]


PLACES = {
    "result": lambda x: x * 1,
    "view": lambda x: torch.stack([x, x])[1],
    "leaf's clone": torch.Tensor.clone,
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("name", OPS)
def test_value_memory_and_gradient(name, place, rules):
    _, change = OPS[name]
    leaf = X.clone().requires_grad_()
    tensor = place(leaf)
    pointer, version = tensor.data_ptr(), tensor._version
    y = change(tensor)
    assert y is tensor
    assert y.data_ptr() == pointer
    assert y._version > version
    with torch.no_grad():
        assert torch.equal(y, change(X.clone()))
    assert torch.equal(torch.autograd.grad(y, leaf, G)[0], torch.from_numpy(expected(name)))
    assert sum(rules.hits.values()) == 1


def test_nothing_of_the_size_is_made_but_the_mask():
    x = torch.randn(1 << 16, requires_grad=True) * 1
    with torch.profiler.profile(profile_memory=True) as profile:
        x.relu_()
    made = sum(max(event.self_cpu_memory_usage, 0) for event in profile.events())
    assert made < 1.5 * x.numel()


def test_in_a_large_tensor():
    leaf = torch.randn(1 << 21, requires_grad=True)
    gradient = torch.autograd.grad((leaf * 1).relu_().sum(), leaf)[0]
    assert torch.equal(gradient, torch.where(leaf > 0, 1.0, 0.25))


def test_a_tensor_that_somebody_saved_is_missed():
    y = X.clone().requires_grad_().exp()
    y.sign_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_view_taken_before_sees_the_op():
    leaf = X.clone().requires_grad_()
    whole = leaf * 2
    view = whole[:2]
    whole.relu_()
    assert torch.autograd.grad(view.sum(), leaf)[0].tolist() == [0.5, 0.5, 0, 0, 0, 0, 0]


def test_a_view_of_a_leaf_is_refused():
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        X.clone().requires_grad_()[:2].relu_()


def test_second_derivative():
    """Of relu(x * x - 1) * x: its slope is 3x^2 - 1 where that is open, a quarter of it elsewhere."""
    leaf = X.clone().requires_grad_()
    y = (leaf * leaf - 1).relu_()
    (slope,) = torch.autograd.grad((y * leaf).sum(), leaf, create_graph=True)
    (second,) = torch.autograd.grad(slope.sum(), leaf)
    side = torch.where(X * X > 1, 1.0, 0.25)
    assert torch.equal(second, 6 * X * side)


def test_forward_mode():
    with forward_ad.dual_level():
        y = (forward_ad.make_dual(X, G) * 1).relu_()
        tangent = forward_ad.unpack_dual(y).tangent
    assert torch.equal(tangent, torch.where(X > 0, G, 0.25 * G))


@pytest.mark.parametrize("reentrant", [True, False])
def test_in_a_checkpoint(reentrant, rules):
    leaf = X.clone().requires_grad_()
    y = checkpoint(lambda x: nn.functional.relu(x * 1, inplace=True), leaf, use_reentrant=reentrant)
    with surrogate.override("torch", {"relu": "native"}):
        y.backward(G)
    assert torch.equal(leaf.grad, torch.where(X > 0, G, 0.25 * G))


def test_retained_and_hooked():
    seen = []
    leaf = X.clone().requires_grad_()
    y = leaf * 1
    y.register_hook(lambda g: seen.append(g.clone()))
    y.relu_()
    y.register_hook(lambda g: seen.append(g.clone()))
    y.retain_grad()
    y.backward(G)
    assert torch.equal(y.grad, G)
    assert sorted(g.tolist() for g in seen) == sorted([G.tolist(), leaf.grad.tolist()])
