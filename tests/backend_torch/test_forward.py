"""Values that are computed by a faster way than PyTorch's kernel have that kernel's bits."""

import math

import pytest
import torch
from surrogate_torch import _blocks, _forward, _together

import surrogate

aten = torch.ops.aten
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INTEGERS = {2: torch.int16, 4: torch.int32, 8: torch.int64}
N = _forward.LARGE_COMPARED + 5
COMPARISONS = ["gt", "ge", "lt", "le", "eq", "ne"]


def bits(x):
    return x.view(INTEGERS[x.itemsize]) if x.is_floating_point() else x


def patterns(dtype):
    """Every number of two bytes, else random bits: NaN of any payload, zeros, subnormals."""
    integer = INTEGERS[dtype.itemsize]
    if dtype.itemsize == 2:
        return torch.arange(-(1 << 15), 1 << 15).repeat(3)[:N].to(integer).view(dtype)
    low, high = torch.iinfo(integer).min, torch.iinfo(integer).max
    found = torch.randint(low, high, (N,), dtype=integer, generator=torch.Generator().manual_seed(0))
    x = found.view(dtype)
    for i, value in enumerate((0.0, -0.0, math.nan, math.inf, -math.inf, 1.0, 0.5, -1.0)):
        x[i::31] = value
    x[20::37] = torch.finfo(dtype).smallest_normal / 4
    return x


@pytest.fixture(params=FLOATS, ids=str)
def x(request):
    return patterns(request.param)


def is_same(overload, *args):
    """Whether a way of ours is taken, and gives what the kernel gives."""
    found = _forward.value(overload, args, {})
    right = overload(*args)
    assert found is not None
    assert found.dtype is right.dtype
    assert found.stride() == right.stride()
    return torch.equal(bits(found), bits(right))


@pytest.mark.parametrize("number", [0.0, -0.0, 1.0, 0.5, -3.0, math.inf, -math.inf, math.nan, 1e-40])
def test_heaviside_with_a_number_at_0(x, number):
    values = torch.tensor(number, dtype=x.dtype)
    assert is_same(aten.heaviside.default, x, values)
    assert is_same(aten.heaviside.default, x, values[None])


def test_heaviside_with_a_tensor_at_0(x):
    assert is_same(aten.heaviside.default, x, x.flip(0))


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_with_a_number(x, name):
    if x.itemsize == 8:
        assert _forward.value(getattr(aten, name).Scalar, (x, 0), {}) is None
        return
    for other in (0.0, 0, 0.1, -1, math.inf, math.nan):
        assert is_same(getattr(aten, name).Scalar, x, other)
        assert is_same(getattr(aten, name).Tensor, x, torch.tensor(other, dtype=x.dtype))


@pytest.mark.parametrize("length", [64, 1000])
@pytest.mark.parametrize("keepdim", [False, True])
def test_argmax_at_ties_zeros_and_nan(x, length, keepdim):
    table = x[: len(x) // length * length].view(-1, length)
    finite = table.nan_to_num(0.0, 1.0, -1.0)
    for each in (table, finite, finite.sign(), finite * 0.0):
        assert is_same(aten.argmax.default, each, 1, keepdim)
        assert is_same(aten.argmax.default, each, -1, keepdim)


def test_layouts():
    image = torch.randn(4, 8, 64, 64).to(memory_format=torch.channels_last)
    for each in (image, image.transpose(0, 2), torch.randn(1024, 128).t(), torch.nn.Parameter(image)):
        assert is_same(aten.heaviside.default, each, torch.tensor(0.5))
        assert is_same(aten.gt.Scalar, each, 0.5)


NATIVE = {
    "integers": (aten.heaviside.default, (torch.arange(N), torch.tensor(1))),
    "small": (aten.heaviside.default, (torch.randn(100), torch.tensor(0.0))),
    "two dtypes": (aten.gt.Tensor, (torch.randn(N), torch.tensor(0.0, dtype=torch.float64))),
    "broadcast": (aten.heaviside.default, (torch.randn(N // 4, 4), torch.randn(4))),
    "broadcast both": (aten.heaviside.default, (torch.randn(N), torch.randn(2, 1))),
    "one number, more dimensions": (aten.heaviside.default, (torch.randn(N), torch.zeros(1, 1))),
    "not dense": (aten.gt.Scalar, (torch.randn(N, 2)[:, 0], 0)),
    "no axis": (aten.argmax.default, (torch.randn(N),)),
    "an axis that is not dense": (aten.argmax.default, (torch.randn(N // 4, 4), 0)),
    "a wrapper": (aten.gt.Scalar, (torch.randn(N, dtype=torch.complex64).conj().imag, 0)),
}


@pytest.mark.parametrize("name", NATIVE)
def test_what_stays_native(name):
    overload, args = NATIVE[name]
    assert _forward.value(overload, args, {}) is None


def test_under_a_rule_and_with_its_gradient():
    x = patterns(torch.float32).requires_grad_()
    zero = torch.tensor(0.5)
    right, above = torch.heaviside(x.detach(), zero), x.detach() > 0.5
    with surrogate.override("torch", {"heaviside": "boxcar", "compare": "hardtanh(width=2)"}) as scope:
        y = torch.heaviside(x, zero)
        z = (x > 0.5).float()
    assert torch.equal(bits(y), bits(right))
    assert torch.equal(z, above.float())
    assert (scope.hits["heaviside"], scope.hits["greater"]) == (1, 1)
    (by_step,) = torch.autograd.grad(y, x, torch.ones_like(x))
    (by_mask,) = torch.autograd.grad(z, x, torch.ones_like(x))
    assert torch.equal(by_step, (x.detach().abs() <= 0.5).float())
    assert torch.equal(by_mask, ((x.detach() - 0.5).abs() <= 2) * 0.25)


def test_transforms_see_the_op():
    x = torch.randn(3, N)
    with surrogate.override("torch", {"heaviside": "arctan"}):
        found = torch.func.vmap(torch.func.grad(lambda x: torch.heaviside(x, torch.tensor(0.0)).sum()))(x)
    torch.testing.assert_close(found, 1 / (1 + (torch.pi * x) ** 2))


UNARY = {
    "sign": (torch.sign, "hardtanh(width=0.5)", (-0.5, 0.5)),
    "round": (torch.round, "clipped(lo=-2, hi=0.3)", (-2, 0.3)),
    "floor": (torch.floor, "clipped(lo=0, hi=60000)", (0, 60000)),
    "ceil": (torch.ceil, "clipped(lo=-1e5, hi=1e-3)", (-1e5, 1e-3)),
    "trunc": (torch.trunc, "clipped(lo=-7, hi=-3)", (-7, -3)),
}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op", UNARY)
def test_value_and_mask_together(op, dtype, monkeypatch):
    """A mask by way of the value's memory is the mask of the formula, and the value is the kernel's."""
    monkeypatch.setattr(_blocks, "LARGE", 1 << 12)
    monkeypatch.setattr(_blocks, "SHARE", 1 << 11)
    function, spec, (lo, hi) = UNARY[op]
    x = patterns(dtype)
    rule = surrogate.gradient(op, spec).rule
    with torch.no_grad():
        y, mask = _together.value_and_mask(getattr(aten, op).default, rule, x)
        (right,) = rule.save(surrogate.load_backend("torch").xp, (x,), (True,))
    assert torch.equal(bits(y), bits(function(x)))
    assert torch.equal(mask, right)
    assert 0 < mask.count_nonzero() < len(x)
    edges = torch.tensor([lo, hi], dtype=dtype)
    assert torch.equal(mask, (x >= edges[0]) & (x <= edges[1]))


def test_a_mask_that_is_no_interval_is_made_by_its_formula(monkeypatch):
    monkeypatch.setattr(_blocks, "LARGE", 1 << 12)
    x = patterns(torch.float32).requires_grad_()
    with surrogate.override("torch", {"relu": lambda xp, x: x > 0.25}):
        y = torch.relu(x)
    (found,) = torch.autograd.grad(y, x, torch.ones_like(x))
    assert torch.equal(bits(y), bits(torch.relu(x.detach())))
    assert torch.equal(found, (x.detach() > 0.25).float())


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_a_gate_keeps_the_bits_of_what_passes(dtype):
    """NaN of any payload passes as it is; what does not pass is +0."""
    g = patterns(dtype)
    mask = torch.arange(len(g)) % 3 == 0
    xp = surrogate.load_backend("torch").xp
    with torch.no_grad():
        found = xp.where(mask, g, xp.zeros_like(g))
    assert torch.equal(bits(found), bits(g) * mask)
