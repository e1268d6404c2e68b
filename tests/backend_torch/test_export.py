"""torch.export, make_fx and symbolic_trace: what the graph holds, and what it obeys when it runs."""

import pytest
import torch
from torch import nn
from torch.fx import symbolic_trace
from torch.fx.experimental.proxy_tensor import make_fx

import surrogate

X = torch.tensor([-2.0, -0.5, 0.5, 2.0])


class Model(nn.Module):
    def forward(self, x):
        return torch.sign(x) + torch.round(x) % 2 + x // 2


def targets(graph):
    return [str(node.target) for node in graph.nodes if node.op == "call_function"]


@pytest.fixture
def rules():
    return surrogate.override("torch", dict.fromkeys(("sign", "round", "mod", "floor_divide"), "identity"))


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("strict", [True, False])
def test_export_holds_the_native_ops(strict, requires_grad, rules, fresh_compiler):
    example = (X.clone().requires_grad_(requires_grad),)
    native = torch.export.export(Model(), example, strict=strict)
    with rules:
        exported = torch.export.export(Model(), example, strict=strict)
        Model()(X.clone().requires_grad_())
    assert targets(exported.graph) == targets(native.graph)
    assert "aten.sign.default" in targets(exported.graph)
    assert torch.equal(exported.module()(X), Model()(X))


def test_an_exported_module_obeys_the_rules_where_it_runs(rules):
    exported = torch.export.export(Model(), (X,)).module()
    leaf = X.clone().requires_grad_()
    with rules:
        assert torch.autograd.grad(exported(leaf).sum(), leaf)[0].tolist() == [2.5] * 4


def test_symbolic_trace(rules):
    with rules:
        traced = symbolic_trace(Model())
        leaf = X.clone().requires_grad_()
        assert torch.autograd.grad(traced(leaf).sum(), leaf)[0].tolist() == [2.5] * 4
    with surrogate.override("torch", {"floor_divide": "identity"}):
        assert torch.autograd.grad(traced(leaf).sum(), leaf)[0].tolist() == [0.5] * 4


def test_make_fx_of_the_forward_holds_the_native_op(rules):
    with rules:
        graph = make_fx(torch.sign, pre_dispatch=True)(X).graph
        torch.sign(X.clone().requires_grad_())
    assert targets(graph) == ["aten.sign.default"]


def test_make_fx_of_a_gradient_holds_the_surrogate():
    with surrogate.override("torch", {"sign": "hardtanh"}):
        traced = make_fx(torch.func.grad(lambda x: torch.sign(x).sum()))(X)
    assert traced(X).tolist() == [0.0, 1.0, 1.0, 0.0]


def test_compiled_ahead_of_time_and_kept_in_a_file(rules, fresh_compiler, tmp_path):
    """Under other rules than its own it refuses to run, here and wherever it is loaded."""
    x = X.clone().requires_grad_()
    with rules:
        compiled = torch.compile(lambda x: torch.sign(x) * x, fullgraph=True).aot_compile(((x,), {}))
    compiled.save_compiled_function(str(tmp_path / "compiled"))
    with (tmp_path / "compiled").open("rb") as file:
        loaded = torch.compiler.load_compiled_function(file)
    for function in (compiled, loaded):
        with rules:
            gradient = torch.autograd.grad(function(x).sum(), x)[0]
        assert gradient.tolist() == [-3.0, -1.5, 1.5, 3.0]
        with pytest.raises(RuntimeError, match="surrogate gradient of sign == identity"):
            function(x)
