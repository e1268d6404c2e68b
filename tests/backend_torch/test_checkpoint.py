"""A checkpoint's recomputation runs under the rules of its forward pass, wherever the backward runs."""

import threading

import pytest
import torch
from surrogate_torch import bind
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

import surrogate

X = torch.tensor([-2.0, -0.5, 0.5, 2.0])
BOTH = pytest.mark.parametrize("reentrant", [True, False], ids=["reentrant", "not reentrant"])


def f(x):
    return torch.sign(x) * 3 + torch.round(x * 2)


def rules(spec):
    return {"sign": spec, "round": "identity"}


def backward(y, leaf):
    leaf.grad = None
    y.sum().backward()
    return leaf.grad.tolist()


@BOTH
@pytest.mark.parametrize(("spec", "expected"), [("hardtanh", [2.0, 5.0, 5.0, 2.0]), ("identity", [5.0] * 4)])
def test_backward_after_the_block(reentrant, spec, expected):
    leaf = X.clone().requires_grad_()
    with surrogate.override("torch", rules(spec)):
        y = checkpoint(f, leaf, use_reentrant=reentrant)
    assert backward(y, leaf) == expected


@BOTH
def test_backward_under_other_rules(reentrant):
    leaf = X.clone().requires_grad_()
    with surrogate.override("torch", rules("hardtanh")):
        y = checkpoint(f, leaf, use_reentrant=reentrant)
    with surrogate.override("torch", rules("identity")):
        f(leaf)
        assert backward(y, leaf) == [2.0, 5.0, 5.0, 2.0]


@BOTH
def test_native_forward_and_backward_under_rules(reentrant):
    leaf = X.clone().requires_grad_()
    y = checkpoint(f, leaf, use_reentrant=reentrant)
    with surrogate.use("torch", rules("identity")):
        f(leaf)
        assert backward(y, leaf) == [0.0] * 4


@BOTH
def test_process_wide_rules_undone_before_the_backward(reentrant):
    leaf = X.clone().requires_grad_()
    handle = surrogate.use("torch", rules("hardtanh"))
    y = checkpoint(f, leaf, use_reentrant=reentrant)
    handle.undo()
    assert backward(y, leaf) == [2.0, 5.0, 5.0, 2.0]


@BOTH
def test_backward_in_another_thread(reentrant):
    leaf = X.clone().requires_grad_()
    with surrogate.override("torch", rules("hardtanh")):
        y = checkpoint(f, leaf, use_reentrant=reentrant)
    thread = threading.Thread(target=lambda: y.sum().backward())
    thread.start()
    thread.join()
    assert leaf.grad.tolist() == [2.0, 5.0, 5.0, 2.0]


@BOTH
def test_nested_and_sequential(reentrant):
    leaf = X.clone().requires_grad_()
    with surrogate.override("torch", {"sign": "hardtanh"}):
        inner = lambda x: checkpoint(torch.sign, x, use_reentrant=reentrant)  # noqa: E731
        y = checkpoint(lambda x: inner(x) * 2, leaf, use_reentrant=reentrant)
        z = checkpoint_sequential([torch.sign, torch.neg], 2, leaf, use_reentrant=reentrant)
    assert backward(y, leaf) == [0.0, 2.0, 2.0, 0.0]
    assert backward(z, leaf) == [0.0, -1.0, -1.0, 0.0]


@BOTH
def test_a_checkpointed_op_counts_as_captured(reentrant):
    with surrogate.override("torch", {"sign": "hardtanh"}) as override:
        checkpoint(torch.sign, X.clone().requires_grad_(), use_reentrant=reentrant)
    assert override.hits["sign"] == 1


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")
def test_compiled_checkpoint(fresh_compiler):
    leaf = X.clone().requires_grad_()
    compiled = torch.compile(
        lambda x: checkpoint(f, x, use_reentrant=False), backend="aot_eager", fullgraph=True
    )
    with surrogate.override("torch", rules("hardtanh")):
        y = compiled(leaf)
    assert backward(y, leaf) == [2.0, 5.0, 5.0, 2.0]


def old_bind(function):
    with pytest.warns(DeprecationWarning, match=r"load_backend\(\"torch\"\)\.bound"):
        return bind(function)


@pytest.mark.parametrize("bound", [surrogate.load_backend("torch").bound, old_bind], ids=["bound", "bind"])
def test_recomputations_that_are_not_torchs(bound):
    class Recompute(torch.autograd.Function):
        @staticmethod
        def forward(ctx, function, x):
            ctx.function = function
            ctx.save_for_backward(x)
            return function(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            with torch.enable_grad():
                again = x.detach().requires_grad_()
                y = ctx.function(again)
            return None, torch.autograd.grad(y, again, g)[0]

    leaf = X.clone().requires_grad_()
    with surrogate.override("torch", {"sign": "hardtanh"}):
        torch.sign(leaf)
        y = Recompute.apply(bound(torch.sign), leaf)
    assert backward(y, leaf) == [0.0, 1.0, 1.0, 0.0]
