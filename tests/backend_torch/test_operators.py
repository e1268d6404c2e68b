"""Operators that take functions (cond, map, scan, while_loop): a backward has the rules of the forward."""

from contextlib import nullcontext

import pytest
import torch
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as map_rows
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

import surrogate

pytestmark = pytest.mark.usefixtures("fresh_compiler")

X = torch.tensor([-2.0, -0.5, 0.5, 2.0], dtype=torch.float64)


def cond(x):
    return torch.cond(x.sum() < 1, lambda x: torch.sign(x) * 2, lambda x: x * 1, (x,))


def loop(x):
    """x is doubled in its slope three times where sign lets it through."""
    zero = torch.tensor(0)
    return while_loop(lambda n, x: n < 3, lambda n, x: (n + 1, torch.sign(x) + x), (zero, x))[1]


def running(x):
    return scan(lambda carry, a: (carry * 1, torch.sign(a) * 2 + carry), torch.zeros((), dtype=x.dtype), x)[1]


def joined(x):
    return associative_scan(lambda a, b: torch.sign(a) + b, x, 0, combine_mode="generic")[1:2] * torch.ones(4)


# with sign's gradient 1 inside, and 0
OPERATORS = {
    "cond": (cond, [0, 2, 2, 0], [0, 0, 0, 0]),
    "map": (lambda x: map_rows(lambda row: torch.sign(row) * 2, x), [0, 2, 2, 0], [0, 0, 0, 0]),
    "while_loop": (loop, [1, 2, 2, 1], [1, 1, 1, 1]),
    "scan": (running, [0, 2, 2, 0], [0, 0, 0, 0]),
    "associative_scan": (lambda x: joined(x / 4), [1, 1, 0, 0], [0, 1, 0, 0]),
}
RULES = {"sign": "hardtanh"}
COMPILERS = {
    "eager": lambda f: f,
    "aot_eager": lambda f: torch.compile(f, backend="aot_eager", fullgraph=True),
}


def gradient(f, forward, backward):
    leaf = X.clone().requires_grad_()
    with forward:
        y = f(leaf)
    with backward:
        return torch.autograd.grad(y.sum(), leaf)[0].tolist()


# around a backward alone an override captures nothing, and says so
@pytest.mark.filterwarnings("ignore::surrogate.NothingCapturedWarning")
@pytest.mark.parametrize("compiler", COMPILERS.values(), ids=COMPILERS)
@pytest.mark.parametrize(("f", "through", "native"), OPERATORS.values(), ids=OPERATORS)
def test_the_rule_is_decided_by_the_forward(f, through, native, compiler):
    f = compiler(f)
    rules = lambda: surrogate.override("torch", RULES)  # noqa: E731
    with rules():
        torch.sign(X.clone().requires_grad_())
    assert gradient(f, rules(), nullcontext()) == through
    assert gradient(f, rules(), surrogate.override("torch", {"sign": "native"})) == through
    assert gradient(f, nullcontext(), rules()) == native
