"""Windows in code that inductor makes: one byte kept, selected, and to the bit what eager gives."""

import math

import pytest
import torch

import surrogate

pytestmark = [
    pytest.mark.usefixtures("fresh_compiler"),
    pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor"),
]
N = 1003
X = torch.tensor([math.inf, -math.inf, math.nan, 0.0, -0.0, 1.0, -1.0, 0.5, 1.5, -3.0, 7.0])
G = torch.tensor([1.0, math.inf, -math.inf, math.nan, -2.0, 0.3, -0.0])
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
CASES = {
    "one slope": ("sign", "hardtanh", lambda x: torch.sign(x) * 0.7),
    "two slopes": ("relu", "leaky(leak=0.3)", lambda x: torch.relu(x) * 0.7),
    "bounds of smaller shapes": (
        "clip",
        "closed",
        lambda x: x.view(17, 59).clamp(torch.full((59,), -1.0), torch.ones(17, 1)).flatten() * 0.7,
    ),
    "another input": ("clip", "leaky(leak=0.3)", lambda x: x.clamp(torch.tensor(-1.0), torch.ones(N)) * 0.7),
}


def numbers(x, n=N):
    return x.repeat(-(-n // len(x)))[:n]


def gradient(function, x, g, kept=None):
    leaf = x.clone().requires_grad_()
    keep = kept.append if kept is not None else lambda t: None
    with torch.autograd.graph.saved_tensors_hooks(lambda t: keep((t.dtype, t.numel())) or t, lambda t: t):
        y = function(leaf)
    return torch.autograd.grad(y, leaf, g.to(y.dtype))[0]


def bits(x):
    return x.nan_to_num(12345.0).view({2: torch.int16, 4: torch.int32, 8: torch.int64}[x.element_size()])


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("case", CASES)
def test_bits_of_eager(case, dtype):
    op, spec, function = CASES[case]
    x, g = numbers(X).to(dtype), numbers(G).to(dtype)
    # inductor leaves out roundings to half precision between two operations, unless it is told
    exact = torch._inductor.config.patch(emulate_precision_casts=True)
    with surrogate.override("torch", {op: spec}), exact:
        found = gradient(torch.compile(function, fullgraph=True), x, g)
        right = gradient(function, x, g)
    assert found.dtype is dtype
    assert torch.equal(bits(found), bits(right))


@pytest.mark.parametrize("case", list(CASES)[:2])
def test_one_byte_an_element_is_kept(case):
    """As an integer, which inductor's code for a CPU reads and writes five times faster than a bool."""
    op, spec, function = CASES[case]
    kept = []
    with surrogate.override("torch", {op: spec}):
        gradient(torch.compile(function, fullgraph=True), numbers(X), numbers(G), kept)
    assert kept == [(torch.uint8, N)]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_a_mask_smaller_than_the_upstream_gradient(dtype):
    """The sum over the rows is exact: of small whole numbers, and an infinity where it is open or not."""
    x = numbers(torch.tensor([0.25, 2.0, -0.25, math.nan]), 59).to(dtype)
    g = numbers(torch.tensor([1.0, math.inf, 2.0, -4.0]), N).view(17, 59).to(dtype)
    compiled = torch.compile(lambda x: torch.heaviside(x, torch.ones(17, 59, dtype=dtype)), fullgraph=True)
    with surrogate.override("torch", {"heaviside": "boxcar"}):
        found = gradient(compiled, x, g)
    assert torch.equal(found, torch.where(x.abs() <= 0.5, g, 0).sum(0))


def test_any_number_of_elements():
    compiled = torch.compile(lambda x: torch.sign(x) * 2, fullgraph=True, dynamic=True)
    with surrogate.override("torch", {"sign": "hardtanh"}):
        for n in (3, 64, 1000):
            x, g = numbers(X, n), torch.full((n,), math.inf)
            assert torch.equal(gradient(compiled, x, g), torch.where(x.abs() <= 1, math.inf, 0.0))


def test_forward_mode_selects_too():
    from torch.autograd import forward_ad

    compiled = torch.compile(lambda x: torch.sign(x) * 2, backend="aot_eager")
    x = torch.tensor([0.5, 2.0])
    with surrogate.override("torch", {"sign": "hardtanh"}), forward_ad.dual_level():
        y = compiled(forward_ad.make_dual(x, torch.full((2,), math.inf)))
        assert forward_ad.unpack_dual(y).tangent.tolist() == [math.inf, 0.0]


def test_forward_mode_inside_selects_too():
    from torch.autograd import forward_ad

    def slope(x, t):
        with forward_ad.dual_level():
            return forward_ad.unpack_dual(torch.sign(forward_ad.make_dual(x, t))).tangent

    x, t = torch.tensor([0.5, 2.0], requires_grad=True), torch.full((2,), math.inf)
    with surrogate.override("torch", {"sign": "hardtanh"}):
        assert torch.compile(slope, backend="aot_eager")(x, t).tolist() == [math.inf, 0.0]


def test_compiled_autograd_of_an_eager_forward():
    x = numbers(X).requires_grad_()
    with surrogate.override("torch", {"sign": "hardtanh"}):
        y = torch.sign(x)
    with torch._dynamo.compiled_autograd._enable(torch.compile(backend="inductor")):
        y.backward(torch.full((N,), math.inf))
    assert torch.equal(x.grad, torch.where(x.detach().abs() <= 1, math.inf, 0.0))
