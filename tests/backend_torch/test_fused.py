"""The choice of PyTorch's fused kernel for windows: the same numbers, the input kept, and never unasked."""

import math
import threading

import pytest
import torch
from surrogate_torch import fused_windows

import surrogate

CASES = {
    "sign": (torch.sign, "hardtanh(width=1.1)", (-1.1, 1.1)),
    "round": (torch.round, "clipped(lo=-2, hi=0.3)", (-2.0, 0.3)),
    "floor": (torch.floor, "clipped(lo=0, hi=6)", (0.0, 6.0)),
    "ceil": (torch.ceil, "clipped(lo=-1e-3, hi=1e3)", (-1e-3, 1e3)),
    "trunc": (torch.trunc, "clipped(lo=-7, hi=-3)", (-7.0, -3.0)),
}
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


def around(edges, dtype):
    """The edges as this dtype has them, their neighbours, and what else there is."""
    found = [torch.tensor([0.0, -0.0, math.inf, -math.inf], dtype=dtype), torch.randn(50).to(dtype) * 4]
    for edge in torch.tensor(edges, dtype=dtype):
        found += [edge[None] + 0, *(torch.nextafter(edge, edge + way)[None] for way in (math.inf, -math.inf))]
    return torch.cat(found)


def gradient(function, x, g):
    leaf = x.detach().clone().requires_grad_()
    y = function(leaf)
    return type(y.grad_fn).__name__, torch.autograd.grad(y, leaf, g)[0]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op", CASES)
def test_the_same_numbers_to_the_edges(op, dtype):
    function, spec, edges = CASES[op]
    x = around(edges, dtype)
    with surrogate.override("torch", {op: spec}) as scope:
        for g in (torch.randn(len(x)).to(dtype), torch.full_like(x, math.inf)):
            node, right = gradient(function, x, g)
            with fused_windows():
                other, found = gradient(function, x, g)
            assert torch.equal(found, right)
            assert 0 < right.count_nonzero() < len(x)
            assert (node, other) == ("SurrogateUnaryBackward", "FusedWindowBackward")
    assert scope.hits == {op: 4}


def test_at_nan_the_upstream_gradient_passes():
    x = torch.tensor([math.nan, 0.0, 9.0])
    with surrogate.override("torch", {"sign": "hardtanh"}):
        assert gradient(torch.sign, x, torch.ones(3))[1].tolist() == [0.0, 1.0, 0.0]
        with fused_windows():
            assert gradient(torch.sign, x, torch.ones(3))[1].tolist() == [1.0, 1.0, 0.0]


def test_the_input_is_kept_and_no_mask():
    x, kept = torch.randn(100, requires_grad=True), []
    with (
        surrogate.override("torch", {"sign": "hardtanh"}),
        fused_windows(),
        torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.data_ptr()) or t, lambda t: t),
    ):
        torch.sign(x)
    assert kept == [x.data_ptr()]


def test_every_other_gradient_is_as_without():
    def hardtanh(xp, x):
        return xp.abs(x) < 0.5

    x, g = torch.tensor([-1.0, -0.5, 0.25, 3.0]), torch.ones(4)
    others = [(torch.sign, "sign", hardtanh), (torch.sign, "sign", "arctan"), (torch.relu, "relu", "leaky")]
    for function, op, spec in others:
        with surrogate.override("torch", {op: spec}):
            right = gradient(function, x, g)
            with fused_windows():
                found = gradient(function, x, g)
        assert found[0] == right[0] == "SurrogateUnaryBackward"
        assert torch.equal(found[1], right[1])


def test_second_derivatives_are_zero_and_connected():
    x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    with surrogate.override("torch", {"sign": "hardtanh"}), fused_windows():
        (first,) = torch.autograd.grad((torch.sign(x) * x).sum(), x, create_graph=True)
    assert first.tolist() == [1.5, 1.0]
    assert torch.autograd.grad(first.sum(), x)[0].tolist() == [2.0, 0.0]


def test_forward_mode_and_transforms_take_the_mask():
    x = torch.tensor([0.5, 2.0])
    with surrogate.override("torch", {"sign": "hardtanh"}), fused_windows():
        assert torch.func.grad(lambda x: torch.sign(x).sum())(x).tolist() == [1.0, 0.0]
        assert torch.func.jvp(torch.sign, (x,), (torch.ones(2),))[1].tolist() == [1.0, 0.0]


@pytest.mark.usefixtures("fresh_compiler")
def test_compiled_code_is_the_same_inside_and_outside():
    compiled = torch.compile(lambda x: torch.sign(x) * 2, backend="aot_eager", fullgraph=True)
    x, g = torch.tensor([0.5, 1.0, 2.0, math.nan]), torch.ones(4)
    with surrogate.override("torch", {"sign": "hardtanh"}):
        with fused_windows():
            assert gradient(compiled, x, g)[1].tolist() == [2.0, 2.0, 0.0, 0.0]
        assert gradient(compiled, x, g)[1].tolist() == [2.0, 2.0, 0.0, 0.0]


def test_it_ends_with_its_block_and_stays_in_its_thread():
    nodes = []

    def work(fail=False):
        nodes.append(gradient(torch.sign, torch.ones(3), torch.ones(3))[0])
        return 1 / (not fail)

    with surrogate.use("torch", {"sign": "hardtanh"}):
        with fused_windows():
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            with pytest.raises(ZeroDivisionError), fused_windows():
                work(fail=True)
            work()
        work()
    chosen, not_chosen = "FusedWindowBackward", "SurrogateUnaryBackward"
    assert nodes == [not_chosen, chosen, chosen, not_chosen]


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint(reentrant):
    x = torch.tensor([0.5, 1.0, 2.0], requires_grad=True)
    with surrogate.override("torch", {"sign": "hardtanh"}), fused_windows():
        y = torch.utils.checkpoint.checkpoint(lambda x: torch.sign(x * 1) * 3, x, use_reentrant=reentrant)
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0, 0.0]


def clipped(xp, x):
    return surrogate.window(xp.abs(x) <= 1, 2.0)


def test_a_users_window_of_the_same_name_keeps_its_numbers():
    """It is found by what the rule says of itself: of the name alone, this window of 2 was taken for 1."""
    x = torch.tensor([-2.0, 0.5, 1.0])
    with surrogate.override("torch", {"abs": clipped}), fused_windows():
        node, got = gradient(torch.abs, x, torch.ones(3))
    assert got.tolist() == [0, 2, 2]
    assert "Fused" not in node


def hardtanh(xp, x):
    return x > 0


def test_a_name_without_its_parameters_is_no_error():
    with surrogate.override("torch", {"relu": hardtanh}), fused_windows():
        assert gradient(torch.relu, torch.tensor([-1.0, 1.0]), torch.ones(2))[1].tolist() == [0, 1]


def test_a_users_interval_gets_the_kernel():
    surrogate.register("abs", name="unit", interval=lambda width: (-width, width), replace=True)(unit)
    x = torch.tensor([-2.5, -2.0, 0.5, 3.0])
    with surrogate.override("torch", {"abs": "unit(width=2)"}), fused_windows():
        node, got = gradient(torch.abs, x, torch.ones(4))
    assert got.tolist() == [0, 1, 1, 0]
    assert "Fused" in node


def unit(xp, x, *, width=1.0):
    return xp.abs(x) <= width
