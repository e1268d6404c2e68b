"""Parameters with a shape under ``torch.func.vmap``: they meet the axes that the user sees."""

import itertools

import pytest
import torch
from torch.func import grad, jvp, vmap

import surrogate

GENERATOR = torch.Generator().manual_seed(0)
#: Of three axes of one size: an axis that is taken for another broadcasts all the same.
X = torch.randn(3, 3, 3, dtype=torch.float64, generator=GENERATOR)
G = torch.randn(3, 3, 3, dtype=torch.float64, generator=GENERATOR)
SLOPES = {"row": [[0.5], [1.0], [2.0]], "channel": [0.5, 1.0, 2.0]}

KINDS = {
    "array": lambda values: torch.tensor(values, dtype=torch.float64).numpy(),
    "variable": surrogate.Variable,
    "learned": lambda values: torch.tensor(values, dtype=torch.float64, requires_grad=True),
}
OPS = {
    "sign": (torch.sign, lambda x, k: torch.tanh(k * x)),
    "in place": (lambda x: (x * 1).sign_(), lambda x, k: torch.tanh(k * x)),
    "method": (lambda x: x.sign(), lambda x, k: torch.tanh(k * x)),
    "comparison": (lambda x: (x > 0.5).double() * 1, lambda x, k: torch.tanh(k * (x - 0.5)) / 2),
    "composed": (lambda x: torch.greater(x, 0.5).to(x.dtype) * 1, lambda x, k: torch.tanh(k * (x - 0.5)) / 2),
}


def rules(slope):
    return {op: surrogate.gradient(op, "tanh", slope=slope) for op in ("sign", "greater")}


def wanted(primitive, slope, axes):
    """As many slopes as the innermost function sees axes: those of the outer maps are in front."""
    order = [*axes, *(i for i in range(3) if i not in axes)]
    x = X.permute(order).requires_grad_()
    y = primitive(x, torch.tensor(slope, dtype=torch.float64))
    found = torch.autograd.grad(y, x, G.permute(order))[0]
    return found.permute([order.index(i) for i in range(3)])


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", SLOPES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", OPS)
def test_the_gradient_of_a_map(op, kind, shape, axis):
    function, primitive = OPS[op]
    x = X.clone().requires_grad_()
    with surrogate.override("torch", rules(KINDS[kind](SLOPES[shape]))):
        y = vmap(function, in_dims=axis, out_dims=axis)(x)
    found = torch.autograd.grad(y, x, G)[0]
    torch.testing.assert_close(found, wanted(primitive, SLOPES[shape], [axis]), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("axes", list(itertools.permutations(range(3), 2)), ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_maps_inside_of_maps(kind, axes):
    outer, inner = axes
    mapped = vmap(vmap(torch.sign, inner - (outer < inner), inner - (outer < inner)), outer, outer)
    with surrogate.override("torch", rules(KINDS[kind](SLOPES["channel"]))):
        found = grad(lambda x: (mapped(x) * G).sum())(X)
        tangent = jvp(mapped, (X,), (G,))[1]
    expected = wanted(OPS["sign"][1], SLOPES["channel"], axes)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(tangent, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("axis", [0, 2])
def test_compiled(axis):
    torch.compiler.reset()

    @torch.compile(fullgraph=True, backend="aot_eager")
    def compiled(x):
        return vmap(lambda r: torch.sign(r) * 2, axis, axis)(x)

    x = X.clone().requires_grad_()
    with surrogate.override("torch", rules(KINDS["array"](SLOPES["row"]))):
        found = torch.autograd.grad(compiled(x), x, G / 2)[0]
    torch.testing.assert_close(found, wanted(OPS["sign"][1], SLOPES["row"], [axis]), rtol=1e-12, atol=1e-14)


def test_bounds_beside_the_mapped_operand():
    x, hi = X.clone().requires_grad_(), torch.tensor([0.25, 0.5, 1.0], dtype=torch.float64)
    leak = [[0.1], [0.2], [0.3]]
    gradient = surrogate.gradient("clip", "leaky", leak=leak)
    with surrogate.override("torch", {"clip": gradient}):
        y = vmap(lambda r: torch.clamp(r, -hi, hi), 1, 1)(x)
    found = torch.autograd.grad(y, x, G)[0].movedim(1, 0)
    rows = X.movedim(1, 0)
    expected = G.movedim(1, 0) * torch.where(rows.abs() <= hi, 1.0, torch.tensor(leak, dtype=torch.float64))
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_a_mapped_op_refuses_what_its_own_shape_does_not_take(kind):
    x = X[0].clone().requires_grad_()
    for op in (torch.sign, lambda x: x > 0.5):
        with (
            pytest.raises(surrogate.ParameterError, match=r"shape \(3, 1\) does not broadcast .* \(3,\)"),
            surrogate.override("torch", rules(KINDS[kind](SLOPES["row"]))),
        ):
            vmap(op)(x)


def test_each_row_learns_its_own():
    slopes = torch.tensor([[0.5, 1.0, 2.0], [2.0, 0.25, 1.5], [1.0, 1.0, 3.0]], dtype=torch.float64)

    def ours(x, slope):
        with surrogate.override("torch", rules(slope)):
            return torch.sign(x)

    def primitive(x, slope):
        return torch.tanh(slope * x)

    for axes, args in {
        (0, 1): (X[0], slopes),
        (1, 0): (X[0], slopes),
        (None, 0): (X[0, 0], slopes),
        (1, None): (X[0], slopes[0]),
    }.items():
        found, expected = (
            grad(lambda x, k, f=f, axes=axes: (vmap(f, axes)(x, k) * G[0]).sum(), (0, 1))(*args)
            for f in (ours, primitive)
        )
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-14)
