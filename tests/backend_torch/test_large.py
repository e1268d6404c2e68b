"""Large tensors on a CPU are worked on by blocks and by bits; every number is the same as without."""

import math

import pytest
import torch
from surrogate_torch import _blocks, _select
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

import surrogate

N = _blocks.LARGE + 3
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
UNARY = {
    "sign": torch.sign,
    "round": torch.round,
    "floor": torch.floor,
    "ceil": torch.ceil,
    "trunc": torch.trunc,
    "relu": torch.relu,
    "relu6": nn.functional.relu6,
    "abs": torch.abs,
}
NEEDED = {"clipped": "clipped(lo=-1, hi=1)"}
PAIRS = [(op, NEEDED.get(name, name)) for op in UNARY for name in surrogate.gradients(op)]


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def cotangents(function, inputs, g):
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    return torch.autograd.grad(function(*leaves), leaves, g)


def in_parts(function, inputs, g, size=_blocks.LARGE // 4):
    """The same through tensors that are too small for blocks."""
    parts = zip(*(x.flatten().split(size) for x in (*inputs, g)), strict=True)
    found = [cotangents(function, part[:-1], part[-1]) for part in parts]
    return tuple(torch.cat(parts).view(g.shape) for parts in zip(*found, strict=True))


def numbers(n=N, dtype=torch.float32):
    x = torch.randn(n, dtype=dtype) * 2
    x[:8] = torch.tensor([math.inf, -math.inf, math.nan, 0.0, -0.0, 1.0, -1.0, 0.5])
    return x


def same(a, b):
    return torch.equal(torch.isnan(a), torch.isnan(b)) and torch.equal(a.nan_to_num(), b.nan_to_num())


@pytest.mark.parametrize(("op", "name"), PAIRS)
def test_each_gradient_equals_that_of_small_parts(op, name):
    x, g = numbers(), torch.randn(N)
    with surrogate.override("torch", {op: name}):
        (found,) = cotangents(UNARY[op], [x], g)
        (right,) = in_parts(UNARY[op], [x], g)
    assert same(found, right)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("spec", ["hardtanh", "arctan", "leaky"])
def test_each_dtype(dtype, spec):
    op = "relu" if spec == "leaky" else "sign"
    x, g = numbers(dtype=dtype), torch.randn(N, dtype=dtype)
    with surrogate.override("torch", {op: spec}):
        (found,) = cotangents(UNARY[op], [x], g)
        (right,) = in_parts(UNARY[op], [x], g)
    assert found.dtype is dtype
    assert same(found, right)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_a_window_selects(dtype):
    x = torch.tensor([0.5, 2.0], dtype=dtype).repeat(_select.LARGE)
    g = torch.tensor([math.inf, math.inf, -0.0, -0.0, math.nan, math.nan], dtype=dtype).repeat(_select.LARGE)
    with surrogate.override("torch", {"sign": "hardtanh"}):
        (found,) = cotangents(torch.sign, [x.repeat(3)], g)
    assert str(found[:6].tolist()) == "[inf, 0.0, -0.0, 0.0, nan, 0.0]"
    assert str(found[-6:].tolist()) == "[inf, 0.0, -0.0, 0.0, nan, 0.0]"


SIDES = {
    "tensors": (torch.randn(3, _select.LARGE), torch.randn(3, _select.LARGE)),
    "a tensor, 0": (torch.randn(3, _select.LARGE), 0.0),
    "a tensor, a number": (torch.randn(3, _select.LARGE), -0.1),
    "a tensor, -0": (torch.randn(3, _select.LARGE), -0.0),
    "infinity, a tensor": (math.inf, torch.randn(3, _select.LARGE)),
    "a number, a tensor": (1, torch.randn(3, _select.LARGE)),
    "one seen many times, 0": (torch.tensor(0.3).expand(3, _select.LARGE), 0.0),
    "two seen many times": (
        torch.tensor(0.3).expand(3, _select.LARGE),
        torch.tensor(0.7).expand(3, _select.LARGE),
    ),
}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("sides", SIDES.values(), ids=SIDES)
def test_a_selection_by_bits_is_that_of_where(sides, dtype):
    mask = torch.randn(3, _select.LARGE) > 0
    x, y = (side.to(dtype) if isinstance(side, torch.Tensor) else side for side in sides)
    x = x.expand(mask.shape) if isinstance(x, torch.Tensor) else x
    with torch.no_grad():
        found = _select.where(mask, x, y)
    right = torch.where(mask, x, y)
    assert found.dtype is dtype
    assert torch.equal(found, right)
    assert torch.equal(torch.signbit(found), torch.signbit(right))


def test_a_window_of_two_slopes():
    x = torch.tensor([3.0, -3.0]).repeat(_select.LARGE)
    g = torch.tensor([math.inf, 2.0]).repeat(_select.LARGE)
    with surrogate.override("torch", {"relu": "leaky(leak=0.25)"}):
        (found,) = cotangents(torch.relu, [x], g)
    assert found[:2].tolist() == found[-2:].tolist() == [math.inf, 0.5]


def seen(function, x, g):
    """The sizes of the arrays that a formula is given in a backward."""
    sizes = []

    def formula(xp, x):
        sizes.append(math.prod(x.shape))
        return 1 / (1 + x * x)

    with surrogate.override("torch", {"sign": formula}):
        y = function(x)
        sizes.clear()
        (found,) = torch.autograd.grad(y, x, g)
    assert torch.equal(found, 1 / (1 + x.detach() * x.detach()) * g)
    return sizes


def test_blocks_are_small_and_cover_everything(monkeypatch):
    monkeypatch.setattr(_blocks, "SHARE", 1 << 16)
    x = torch.randn(N, requires_grad=True)
    block = torch.get_num_threads() << 16
    sizes = seen(torch.sign, x, torch.ones(N))
    assert sizes[:-1] == [block] * (N // block)
    assert sum(sizes) == N


IMAGE = (4, 8, 256, 256)
LAYOUTS = {
    "channels last": lambda: torch.randn(IMAGE).to(memory_format=torch.channels_last),
    "transposed": lambda: torch.randn(1024, 2048).t(),
    "parameter": lambda: nn.Parameter(torch.randn(1024, 2048)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("spec", ["hardtanh", "arctan"])
def test_a_dense_layout_is_kept(layout, spec):
    x = LAYOUTS[layout]().requires_grad_()
    g = torch.randn_like(x)
    with surrogate.override("torch", {"sign": spec}):
        (found,) = torch.autograd.grad(torch.sign(x), x, g)
        (right,) = in_parts(torch.sign, [x], g)
    assert found.stride() == x.stride()
    assert torch.equal(found, right)
    assert len(seen(torch.sign, x, g)) > 1


def test_the_gradient_of_a_sum_is_one_number_seen_many_times():
    x = torch.randn(N, requires_grad=True)
    assert len(seen(torch.sign, x, torch.tensor(2.0).expand(N))) > 1


@pytest.mark.parametrize(
    "make", [lambda: torch.randn(N, 2)[:, 0], lambda: torch.randn(1 << 11).expand(1 << 10, -1)]
)
def test_what_is_not_dense_goes_in_one_piece(make):
    x = make().detach().requires_grad_()
    g = torch.randn(x.shape)
    assert seen(torch.sign, x, g) == [x.numel()]


def test_what_is_recorded_goes_in_one_piece():
    """A second derivative, through torch.autograd and through torch.func."""
    x = torch.linspace(-2, 2, N, dtype=torch.float64)
    right = -2 * x / (1 + x * x) ** 2
    with surrogate.override("torch", {"sign": lambda xp, x: 1 / (1 + x * x)}):
        leaf = x.clone().requires_grad_()
        (first,) = torch.autograd.grad(torch.sign(leaf).sum(), leaf, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), leaf)
        func = torch.func.grad(lambda x: torch.func.grad(lambda x: torch.sign(x).sum())(x).sum())(x)
    torch.testing.assert_close(second, right, rtol=1e-14, atol=1e-16)
    torch.testing.assert_close(func, right, rtol=1e-14, atol=1e-16)


class Names(TorchDispatchMode):
    """Somebody who looks at every op: a profiler, a tracer."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        self.names.append(op.overloadpacket.__name__)
        return op(*args, **(kwargs or {}))


def test_one_who_looks_on_sees_the_formula():
    x = torch.randn(N, requires_grad=True)
    with surrogate.override("torch", {"sign": "hardtanh"}), Names() as mode:
        torch.sign(x)
    assert [name for name in mode.names if name not in ("detach", "alias")] == ["sign", "abs", "le"]


SEVERAL = {
    "clip, numbers": ("clip", "leaky(leak=0.5)", lambda x: x.clamp(-1, 1), 1),
    "clip, scalar tensors": ("clip", "closed", lambda x: x.clamp(torch.tensor(-1.0), torch.tensor(1.0)), 1),
    "mod, both": ("mod", "sine", lambda x, y: x % y, 2),
    "mod, number": ("mod", "sine", lambda x: x % 0.7, 1),
    "heaviside": ("heaviside", "arctan", lambda x: torch.heaviside(x, torch.tensor(1.0)), 1),
}


@pytest.mark.parametrize("case", SEVERAL)
def test_ops_of_several_inputs(case):
    op, spec, function, arity = SEVERAL[case]
    inputs = [torch.randn(N) * 3 for _ in range(arity)]
    g = torch.randn(N)
    with surrogate.override("torch", {op: spec}):
        found, right = cotangents(function, inputs, g), in_parts(function, inputs, g)
    assert all(map(torch.equal, found, right))


def test_an_operand_that_is_broadcast():
    x, y, g = torch.randn(1 << 10, 1 << 11), torch.randn(1 << 11) + 3, torch.randn(1 << 10, 1 << 11)
    with surrogate.override("torch", {"mod": "exact"}):
        by_x, by_y = cotangents(lambda x, y: x % y, [x, y], g)
    assert torch.equal(by_x, g)
    assert torch.equal(by_y, (-torch.floor(x / y) * g).sum_to_size(1 << 11))


def test_a_scalar_operand_gets_the_sum():
    x, y, g = torch.randn(N), torch.tensor(0.75), torch.randn(N)
    with surrogate.override("torch", {"mod": "exact"}):
        _, by_y = cotangents(lambda x, y: x % y, [x, y], g)
    assert torch.equal(by_y, (-torch.floor(x / y) * g).sum_to_size(()))


def test_an_upstream_formula():
    x, g = torch.randn(N), torch.randn(N)
    with surrogate.override("torch", {"relu": "guided"}):
        (found,) = cotangents(torch.relu, [x], g)
    assert torch.equal(found, torch.where((x > 0) & (g > 0), g, 0))
