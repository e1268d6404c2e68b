"""A derivative that is written down and run in the cache is the formula's, to the last bit."""

import pytest
import torch
from surrogate_torch import _blocks, _namespace as xp, _program

import surrogate

N = _program.LARGE + 5
INTEGERS = {4: torch.int32, 8: torch.int64}
#: Formulas of operators and functions alone; others select, or compare, and are evaluated as they are.
WRITTEN = {
    "sign": ["arctan", "tanh", "sigmoid", "softsign", "ede"],
    "heaviside": ["arctan", "sigmoid", "fast_sigmoid", "softsign", "tanh", "gaussian", "erf", "laplace"],
    "greater": ["arctan", "fast_sigmoid"],
}
CASES = [(op, name) for op, names in WRITTEN.items() for name in names]


def bits(x):
    return x.view(INTEGERS[x.itemsize])


def numbers(dtype, seed=0):
    """Any bits: NaN of any payload, infinities, subnormals; and numbers at which formulas are something."""
    generator = torch.Generator().manual_seed(seed)
    integer = INTEGERS[dtype.itemsize]
    low, high = torch.iinfo(integer).min, torch.iinfo(integer).max
    x = torch.randint(low, high, (N,), dtype=integer, generator=generator).view(dtype)
    x[::2] = torch.randn(len(x[::2]), dtype=dtype, generator=generator)
    x[::31], x[1::31] = 0.0, -0.0
    return x


def saved_and_cotangent(rule, dtype):
    needs = (True,) + (False,) * (rule.arity - 1)
    inputs = [numbers(dtype, seed) for seed in range(rule.arity)]
    return rule.save(xp, inputs, needs), numbers(dtype, 9), needs


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(_blocks, "SHARE", 1 << 14)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize(("op", "name"), CASES)
def test_the_bits_of_the_formula(op, name, dtype):
    rule = surrogate.gradient(op, name).rule
    saved, g, needs = saved_and_cotangent(rule, dtype)
    with torch.no_grad():
        found = _program.vjp(rule, saved, g, needs)
        right = rule.vjp(xp, saved, g, needs)
    assert [one is None for one in found] == [one is None for one in right]
    assert torch.equal(bits(found[0]), bits(right[0]))


def in_backward(formula, x, g):
    """The gradient, and over what the formula was last evaluated."""
    seen = []

    def watched(xp, x):
        seen.append(type(x).__name__)
        return formula(xp, x)

    leaf = x.clone().requires_grad_()
    with surrogate.override("torch", {"sign": watched}):
        y = torch.sign(leaf)
        seen.clear()
        (found,) = torch.autograd.grad(y, leaf, g)
    return found, seen


@pytest.mark.parametrize(
    "formula",
    [
        lambda xp, x: (3 - x) / 2.5 - 1 / (2 + x**2),
        lambda xp, x: -xp.exp(x) * x + (x - 0.1) * (x / (x - 3)),
        lambda xp, x: xp.pi * xp.cos(x * 0.5) - xp.tanh(x) + 0.25,
    ],
)
def test_a_users_formula(formula):
    x, g = torch.randn(N), torch.randn(N)
    found, seen = in_backward(formula, x, g)
    assert seen == ["Symbol"]
    assert torch.equal(bits(found), bits(formula(xp, x) * g))


@pytest.mark.parametrize(
    "formula",
    [
        lambda xp, x: xp.where(x > 0, x, 1.0),
        lambda xp, x: x * (1.0 if x.shape else 2.0),
        lambda xp, x: xp.astype_like(x > 0, x) * x,
    ],
)
def test_what_cannot_be_written_down_is_evaluated_as_it_is(formula):
    x, g = torch.randn(N), torch.randn(N)
    found, seen = in_backward(formula, x, g)
    assert seen[0] == "Symbol"
    assert set(seen[1:]) == {"Tensor"}
    assert torch.equal(found, formula(xp, x) * g)


def test_a_formula_may_read_what_changes():
    factor = [2.0]
    rule = surrogate.gradient("sign", lambda xp, x: factor[0] * x).rule
    x, g = torch.randn(N), torch.ones(N)
    with torch.no_grad():
        first = _program.vjp(rule, (x,), g, (True,))[0]
        factor[0] = 3.0
        second = _program.vjp(rule, (x,), g, (True,))[0]
    assert torch.equal(first, 2 * x)
    assert torch.equal(second, 3 * x)


def test_the_gradient_of_a_sum_and_layouts():
    x = torch.randn(512, 1024).t().requires_grad_()
    with surrogate.override("torch", {"sign": "arctan"}):
        (found,) = torch.autograd.grad(torch.sign(x).sum(), x)
    assert found.stride() == x.stride()
    rule = surrogate.gradient("sign", "arctan").rule
    assert torch.equal(found, rule.vjp(xp, (x.detach(),), torch.ones_like(x), (True,))[0])


def test_second_derivatives_are_not_written_down():
    x = torch.linspace(-1, 1, N, dtype=torch.float64, requires_grad=True)
    with surrogate.override("torch", {"sign": "arctan"}):
        (first,) = torch.autograd.grad(torch.sign(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    a = torch.pi**2 * x.detach()
    torch.testing.assert_close(second, -4 * a / (1 + a * x.detach()) ** 2)
