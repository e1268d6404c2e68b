"""Every kind of tensor: dtypes, shapes, autocast, subclasses, sparse, nested, meta and fake ones."""

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.testing._internal.two_tensor import TwoTensor

import surrogate
from surrogate import reference

pytestmark = pytest.mark.filterwarnings(
    "ignore:Sparse CSR tensor support is in beta",
    "ignore:The PyTorch API of nested tensors",
    "ignore:Sparse invariant checks are implicitly disabled",
)
X = torch.tensor([-2.0, -0.5, 0.5, 2.0])
WINDOW = [0.0, 1.0, 1.0, 0.0]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


@pytest.fixture(autouse=True)
def rules():
    with surrogate.override("torch", {"sign": "hardtanh", "round": "identity", "mod": "exact"}):
        yield
        torch.sign(X.clone().requires_grad_())


def gradient(y, leaf):
    return torch.autograd.grad(y, leaf, torch.ones_like(y))[0]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_value_and_gradient_keep_the_dtype(dtype):
    leaf = X.to(dtype).requires_grad_()
    y = torch.sign(leaf)
    slope = gradient(y, leaf)
    assert (y.dtype, slope.dtype, slope.tolist()) == (dtype, dtype, WINDOW)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_a_large_window_is_selected_at_every_dtype(dtype):
    leaf = X.to(dtype).repeat(20_000).requires_grad_()
    g = torch.tensor([torch.inf, -torch.inf, -3.0, torch.nan], dtype=dtype).repeat(20_000)
    (slope,) = torch.autograd.grad(torch.sign(leaf), leaf, g)
    expected = torch.tensor([0.0, -torch.inf, -3.0, 0.0], dtype=dtype).repeat(20_000)
    assert slope.dtype == dtype
    assert torch.equal(slope, expected)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_half_precision_is_evaluated_wide_and_rounded_once(dtype):
    x = torch.linspace(-3, 3, 101).to(dtype)
    leaf = x.clone().requires_grad_()
    with surrogate.override("torch", {"sign": "arctan"}):
        slope = gradient(torch.sign(leaf), leaf)
    wide = torch.float64 if dtype is torch.float64 else torch.float32
    expected = reference.vjp("sign", "arctan", x.double().numpy())[0]
    ulp = torch.finfo(dtype).eps if dtype in (torch.float16, torch.bfloat16) else 4 * torch.finfo(wide).eps
    np.testing.assert_allclose(slope.double().numpy(), expected, rtol=ulp, atol=0)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (2, 3, 4)], ids=str)
def test_shapes(shape):
    leaf = torch.full(shape, 0.5).requires_grad_()
    y = torch.sign(leaf)
    assert gradient(y, leaf).shape == y.shape == shape


def test_views_that_are_not_contiguous():
    leaf = X.reshape(2, 2).requires_grad_()
    for view in (leaf.T, leaf[:, 1], leaf.flatten()[::2], leaf[0].expand(3, 2), leaf.unfold(1, 2, 1)):
        slope = gradient(torch.sign(view), leaf)
        assert torch.equal(slope, gradient(view, leaf) * (leaf.abs() <= 1))


def test_channels_last_is_kept():
    x = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last).requires_grad_()
    y = torch.sign(x)
    assert y.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("make", [torch.arange, lambda n: torch.arange(n) > 1], ids=["int", "bool"])
def test_integers_are_left_alone(make):
    assert torch.equal(torch.sign(make(4)), torch.sgn(make(4)))


def test_complex_sgn_is_native():
    leaf = torch.tensor([3 + 4j, 1j], requires_grad=True)
    with surrogate.override("torch", {"sign": "native"}):
        native = gradient(torch.sgn(leaf), leaf)
    assert torch.equal(gradient(torch.sgn(leaf), leaf), native)


def test_operands_of_different_dtypes():
    x = X.half().requires_grad_()
    y = torch.tensor([0.5, 0.75, 1.5, 3.0], requires_grad=True)
    n = torch.tensor([1, 2, 3, 4])
    dx, dy = torch.autograd.grad((x % y).sum(), (x, y))
    assert (dx.dtype, dy.dtype, dy.tolist()) == (torch.float16, torch.float32, [4.0, 1.0, 0.0, 0.0])
    (dy,) = torch.autograd.grad((n % y).sum(), y)
    assert dy.tolist() == [-2.0, -2.0, -2.0, -1.0]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_autocast(dtype):
    leaf = X.diag().requires_grad_()
    with torch.autocast("cpu", dtype=dtype):
        y = torch.sign(leaf @ torch.eye(4))
    assert y.dtype == dtype
    slope = gradient(y, leaf)
    assert slope.dtype == torch.float32
    assert slope.diagonal().tolist() == WINDOW


@pytest.mark.parametrize("off", [torch.no_grad, torch.inference_mode])
def test_nothing_is_recorded_where_nothing_is_to_be(off):
    leaf = X.clone().requires_grad_()
    with off():
        y = torch.sign(leaf)
    assert not y.requires_grad
    assert torch.equal(y, torch.sign(X))
    with surrogate.override("torch", {"round": "identity"}), off():
        torch.round(leaf)
        with torch.enable_grad(), torch.inference_mode(False):
            torch.round(leaf)


def test_meta_tensors():
    leaf = torch.empty(3, device="meta", requires_grad=True)
    y = torch.sign(leaf) % leaf
    assert gradient(y, leaf).shape == (3,)


def test_fake_tensors():
    with FakeTensorMode():
        leaf = torch.empty(3, 4, requires_grad=True)
        y = torch.round(torch.sign(leaf)) % leaf[0]
        assert gradient(y, leaf).shape == (3, 4)


class Labelled(torch.Tensor):
    """A subclass that only asks to stay itself."""


def test_a_plain_subclass():
    leaf = X.clone().as_subclass(Labelled).requires_grad_()
    y = torch.sign(leaf)
    assert type(y) is Labelled
    assert gradient(y, leaf).tolist() == WINDOW


def test_a_wrapper_subclass():
    leaf = TwoTensor(X.clone(), X.clone() * 0.1).requires_grad_()
    slope = gradient(torch.sign(leaf), leaf)
    assert (slope.a.tolist(), slope.b.tolist()) == (WINDOW, [1.0] * 4)


def test_a_parameter():
    weight = nn.Parameter(X.clone())
    assert gradient(torch.sign(weight), weight).tolist() == WINDOW


@pytest.mark.parametrize("coalesced", [True, False])
def test_sparse_coo(coalesced):
    values = torch.tensor([-2.0, 0.25, 0.5], requires_grad=True)
    sparse = torch.sparse_coo_tensor(torch.tensor([[0, 2, 3]]), values, (4,), is_coalesced=coalesced)
    y = torch.sign(sparse)
    assert y.to_dense().tolist() == [-1.0, 0.0, 1.0, 1.0]
    assert torch.autograd.grad(y.to_dense().sum(), values)[0].tolist() == [0.0, 1.0, 1.0]


@pytest.mark.parametrize("spec", ["hardtanh", "identity", "arctan"])
@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr], ids=str)
def test_sparse_leaves(layout, spec):
    dense = torch.tensor([[-2.0, 0.0], [0.25, 0.5]])
    leaf = dense.to_sparse(layout=layout).requires_grad_()
    with surrogate.override("torch", {"sign": spec}):
        y = torch.sign(leaf)
        y.to_dense().sum().backward()
    assert (y.layout, leaf.grad.layout) == (layout, layout)
    assert torch.equal(y.to_dense(), torch.sign(dense))
    expected = reference.vjp("sign", spec, dense.numpy())[0] * (dense.numpy() != 0)
    np.testing.assert_allclose(leaf.grad.to_dense().numpy(), expected, rtol=1e-6)


def test_sparse_of_several_inputs_is_refused_clearly():
    leaf = X.to_sparse().requires_grad_()
    with surrogate.override("torch", {"floor_divide": "identity"}):
        torch.floor_divide(X.clone().requires_grad_(), 2)
        with pytest.raises(NotImplementedError, match=r"no gradient of floor_divide .* layout torch\.sparse"):
            torch.floor_divide(leaf, 2)


SPARSE_UPSTREAM = {
    "window": ("sign", "hardtanh", torch.sign),
    "two slopes": ("relu", "leaky(leak=0.5)", torch.relu),
    "constant": ("sign", "identity", torch.sign),
    "float": ("sign", "arctan", torch.sign),
    "upstream": ("relu", "guided", torch.relu),
    "two inputs": ("mod", "sine", lambda w: w % torch.tensor(0.7)),
    "rows of a broadcast mask": (
        "clip",
        "closed",
        lambda w: w[:1].clamp(-torch.ones(4, 1), torch.ones(4, 1)),
    ),
}


@pytest.mark.parametrize("case", SPARSE_UPSTREAM)
def test_a_sparse_upstream_gradient(case):
    """Of embedding(sparse=True), with a row that is looked up twice and one that is not."""
    op, spec, function = SPARSE_UPSTREAM[case]
    weight = torch.tensor([[-3.0, -0.5], [0.5, 2.0], [-0.2, 0.3], [9.0, 9.0]])
    index, scale = (
        torch.tensor([0, 1, 1, 2]),
        torch.tensor([[1.0, -2.0], [3.0, math.inf], [1.0, 1.0], [4.0, 5.0]]),
    )
    found = []
    for sparse in (True, False):
        leaf = weight.clone().requires_grad_()
        with surrogate.override("torch", {op: spec}):
            y = torch.nn.functional.embedding(index, function(leaf), sparse=sparse)
        (gradient,) = torch.autograd.grad((y * scale).sum(), leaf)
        found.append(gradient.to_dense() if gradient.is_sparse else gradient)
        if sparse and op == "sign":
            assert gradient.is_sparse
    assert torch.equal(*found)


@pytest.mark.parametrize("spec", ["hardtanh", "identity", "arctan"])
@pytest.mark.parametrize("layout", [torch.strided, torch.jagged], ids=str)
def test_nested(layout, spec):
    parts = [X[:1].clone().requires_grad_(), X[1:].clone().requires_grad_()]
    nested = torch.nested.as_nested_tensor(parts, layout=layout)
    with surrogate.override("torch", {"sign": spec}):
        y = torch.sgn(nested) if layout is torch.strided else torch.sign(nested)
    total = sum(part.sum() for part in y.unbind())
    for got, part in zip(torch.autograd.grad(total, parts), parts, strict=True):
        expected = reference.vjp("sign", spec, part.detach().numpy())[0]
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-6)


def test_saved_tensors_see_changes_in_place():
    leaf = X.clone().requires_grad_()
    x = leaf * 1
    with surrogate.override("torch", {"sign": "arctan"}):
        y = torch.sign(x)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    x = leaf * 1
    y = torch.sign(x)  # a window keeps its own mask
    x.add_(1)
    assert gradient(y, leaf).tolist() == WINDOW
