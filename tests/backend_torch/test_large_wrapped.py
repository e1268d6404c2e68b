"""Large tensors that are more than numbers in memory: tangents, batches, negations to come, tracers.

Blocks and bits are for plain numbers only. Each size is beyond one of the two thresholds.
"""

import numpy as np
import pytest
import torch
from surrogate_torch import _blocks, _select
from torch.autograd import forward_ad
from torch.func import functionalize, grad, jvp, vmap
from torch.fx.experimental.proxy_tensor import make_fx

import surrogate
from surrogate import reference

SIZES = [_select.LARGE + 4, 2 * _blocks.LARGE]
SPECS = ["hardtanh", "arctan"]
POINTS = np.array([-1.2, -0.5, 0.3, 0.9])
RULES = {"sign": "hardtanh", "relu": "leaky(leak=0.5)", "mod": "identity", "clip": "leaky"}

pytestmark = pytest.mark.parametrize("size", SIZES)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def many(numbers, size):
    return torch.as_tensor(numbers, dtype=torch.float64).repeat(size // 4)


def close(got, expected):
    torch.testing.assert_close(got.detach(), many(expected, got.numel()), rtol=1e-12, atol=1e-12)


def f(x):
    return torch.sign(x) * x


def dual_over_reverse(x, t):
    leaf = x.clone().requires_grad_()
    with forward_ad.dual_level():
        y = f(forward_ad.make_dual(leaf, t))
        (slope,) = torch.autograd.grad(y.sum(), leaf)
        return forward_ad.unpack_dual(slope).tangent


def reverse_over_dual(x, t):
    leaf = x.clone().requires_grad_()
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(f(forward_ad.make_dual(leaf, t))).tangent
    return torch.autograd.grad(tangent.sum(), leaf)[0]


def double_backward(x, t):
    leaf = x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(f(leaf).sum(), leaf, create_graph=True)
    return torch.autograd.grad(slope, leaf, t)[0]


TRANSFORMS = {
    "dual numbers over reverse": dual_over_reverse,
    "reverse over dual numbers": reverse_over_dual,
    "double backward": double_backward,
    "jvp(jvp)": lambda x, t: jvp(lambda x: jvp(f, (x,), (t,))[1], (x,), (t,))[1],
    "jvp(grad)": lambda x, t: jvp(grad(lambda x: f(x).sum()), (x,), (t,))[1],
    "grad(jvp)": lambda x, t: grad(lambda x: jvp(f, (x,), (t,))[1].sum())(x),
    "vmap(grad(grad))": lambda x, t: vmap(grad(grad(f)))(x),
    "vmap(jvp(grad))": lambda x, t: vmap(lambda x, t: jvp(grad(lambda x: f(x).sum()), (x,), (t,))[1])(
        torch.stack([x, x]), torch.stack([t, t])
    )[1],
}


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_second_order(transform, spec, size):
    x = many(POINTS, size)
    with surrogate.override("torch", {"sign": spec}):
        found = transform(x, torch.ones_like(x))
    first, second = reference.vjp("sign", spec, POINTS)[0], reference.second("sign", spec, POINTS)[0]
    close(found, second * POINTS + 2 * first)


@pytest.mark.parametrize("spec", SPECS)
def test_an_upstream_gradient_that_carries_a_tangent(spec, size):
    x, g = many(POINTS, size).requires_grad_(), many([1.0, 2, 3, 4], size)
    with surrogate.override("torch", {"sign": spec}):
        y = torch.sign(x)
    with forward_ad.dual_level():
        (found,) = torch.autograd.grad(y, x, forward_ad.make_dual(g, g * 3))
        primal, tangent = forward_ad.unpack_dual(found)
    right = reference.vjp("sign", spec, POINTS, g=np.array([1.0, 2, 3, 4]))[0]
    close(primal, right)
    close(tangent, 3 * right)


def test_a_number_that_carries_a_tangent(size):
    """x % y by blocks, y a single number on every block's way."""
    x, y = many(POINTS, size).requires_grad_(), torch.tensor(0.7, dtype=torch.float64)
    with surrogate.override("torch", {"mod": lambda xp, x, y: (x * y, 0.0)}), forward_ad.dual_level():
        z = torch.remainder(x, forward_ad.make_dual(y, torch.tensor(2.0, dtype=torch.float64)))
        (found,) = torch.autograd.grad(z.sum(), x)
        close(forward_ad.unpack_dual(found).tangent, 2 * POINTS)


@pytest.mark.parametrize("spec", [*SPECS, "zero"])
def test_batched_upstream_gradients(spec, size):
    x, g = torch.randn(size, requires_grad=True), torch.randn(3, size)
    with surrogate.override("torch", {"sign": spec}):
        y = torch.sign(x)
    (found,) = torch.autograd.grad(y, x, g, is_grads_batched=True, retain_graph=True)
    right = [torch.autograd.grad(y, x, row, retain_graph=True)[0] for row in g]
    assert torch.equal(found, torch.stack(right))


@pytest.mark.parametrize("op", ["sign", "relu"])
def test_a_negation_still_to_be_done(op, size):
    """The backward of torch.complex gives such ones."""
    x, g = torch.randn(size), torch._neg_view(torch.randn(size))
    leaves = [x.clone().requires_grad_(), torch._neg_view(-x).requires_grad_()]
    with surrogate.override("torch", RULES):
        ys = [getattr(torch, op)(leaf) for leaf in leaves]
    found = [torch.autograd.grad(y, leaf, g)[0] for y, leaf in zip(ys, leaves, strict=True)]
    outside = 0 if op == "sign" else 0.5 * g
    right = torch.where(x.abs() <= 1 if op == "sign" else x > 0, g, outside)
    assert torch.equal(found[0], right)
    assert torch.equal(found[1], right)


def test_through_complex_numbers(size):
    x = torch.randn(size, dtype=torch.float64, requires_grad=True)
    with surrogate.override("torch", RULES):
        loss = (torch.complex(x, torch.sign(x)).conj() * (3 + 4j)).imag.sum()
    (found,) = torch.autograd.grad(loss, x)
    # (x - iy)(3 + 4i) has the imaginary part 4x - 3y
    assert torch.equal(found, 4 - 3 * (x.detach().abs() <= 1).double())


@pytest.mark.parametrize("spec", SPECS)
def test_a_zero_that_takes_no_memory(spec, size):
    x = torch.randn(size, requires_grad=True)
    with surrogate.override("torch", {"sign": spec}):
        y = torch.sign(x)
    assert not torch.autograd.grad(y, x, torch._efficientzerotensor(size))[0].any()


def test_traced_with_real_tensors(size):
    def gradient(x, g):
        return torch.autograd.grad(torch.sign(x), x, g)[0]

    x, g = torch.randn(size, requires_grad=True), torch.randn(size)
    other = torch.randn(size, requires_grad=True)
    with surrogate.override("torch", RULES):
        traced = make_fx(gradient)(x, g)
    assert torch.equal(traced(other, g), torch.where(other.detach().abs() <= 1, g, 0))


def test_functionalized(size):
    x, g = torch.randn(size), torch.randn(size)
    with surrogate.override("torch", RULES):
        found = functionalize(grad(lambda x: (torch.sign(x) * g).sum()))(x)
    assert torch.equal(found, torch.where(x.abs() <= 1, g, 0))


ZEROS = {
    "sign": ({"sign": "zero"}, lambda x: torch.sign(x)),
    "the divisor": ({"mod": "identity"}, lambda x: torch.ones_like(x) % x),
    "a bound": ({"clip": "leaky"}, lambda x: torch.ones_like(x).clamp(x, None)),
}


@pytest.mark.parametrize("case", ZEROS)
def test_zeros_may_be_changed_in_place(case, size):
    rules, function = ZEROS[case]
    x = torch.randn(4, size // 4).t().requires_grad_()
    with surrogate.override("torch", rules):
        y = function(x)
    (found,) = torch.autograd.grad(y, x, torch.ones_like(x))
    assert found.stride() == x.stride()
    assert torch.equal(found.add_(x), x)
