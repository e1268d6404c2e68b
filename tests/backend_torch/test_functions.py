"""Whole functions with another gradient: values worked out by hand."""

from __future__ import annotations

import copy
import threading
from typing import Any

import numpy as np
import pytest
import torch

import surrogate

X = torch.tensor([0.3, 1.2, -0.7])
Q = torch.tensor([0.25, 1.0, -0.5])


def quant(x: Any, bits: int = 2) -> Any:
    """Integer casts and bit operations: nothing of a derivative survives."""
    codes = (x * 2**bits).to(torch.int32) & -1
    return codes.to(x.dtype) / 2**bits


def soft(x: Any, bits: int = 2) -> Any:
    return torch.sin(x)


def by_numpy(x: Any) -> Any:
    return torch.from_numpy(np.floor(x.detach().numpy()))


def tree(given: Any, *, y: Any, n: int = 1) -> Any:
    return {"floor": torch.floor(given["a"]) + n, "sign": torch.sign(y), "index": y.argmax()}


class Quantizer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor(2.0))

    def forward(self, x: Any) -> Any:
        return torch.round(x * self.scale) / self.scale

    def smooth(self, x: Any) -> Any:
        return x * self.scale


imported_before = quant


def slope(f: Any, x: Any = X) -> Any:
    x = x.clone().requires_grad_()
    y = f(x)
    return y, torch.autograd.grad(y.sum(), x)[0]


CASES = [
    ("identity", torch.ones(3)),
    ("scaled(factor=0.5)", torch.full((3,), 0.5)),
    ("clipped(lo=-0.5, hi=1)", torch.tensor([1.0, 0.0, 0.0])),
    (surrogate.of(soft), torch.cos(X)),
    (lambda call, g: g * call.inputs["x"] + call.attributes["bits"], X + 2),
]


@pytest.mark.parametrize(("spec", "expected"), CASES, ids=lambda value: str(value)[:20])
def test_gradients_of_a_function(spec: Any, expected: Any) -> None:
    with surrogate.override("torch", {quant: spec}) as o:
        y, g = slope(imported_before)
        assert torch.equal(y, Q)
        assert torch.equal(g, expected)
        assert torch.equal(torch.func.grad(lambda x: quant(x).sum())(X), expected)
        assert torch.equal(torch.func.vmap(torch.func.grad(quant))(X), expected)
        assert torch.equal(torch.func.grad(lambda x: torch.func.vmap(quant)(x).sum())(X), expected)
    assert sum(o.hits.values()) == 4
    assert not quant(X.clone().requires_grad_()).requires_grad


def test_zero_cuts() -> None:
    with surrogate.override("torch", {Quantizer().smooth: "zero"}):
        assert not slope_free(Quantizer().requires_grad_(False).smooth).requires_grad


def slope_free(f: Any) -> Any:
    return f(X.clone().requires_grad_())


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_compiled_in_a_full_graph_and_never_stale(backend: str) -> None:
    torch.compiler.reset()  # one code object is compiled here for every backend
    layer = Quantizer()

    def step(x: Any) -> Any:
        return layer(x) * 3.0 + quant(x)

    compiled = torch.compile(step, fullgraph=True, backend=backend)
    rules: dict[Any, Any] = {quant: "identity", Quantizer.forward: surrogate.of(Quantizer.smooth)}
    value, native = slope(compiled)
    for _ in range(2):
        with surrogate.override("torch", rules) as o:
            y, g = slope(compiled)
            assert torch.equal(y, value)
            assert torch.equal(g, torch.full((3,), 7.0))
        with surrogate.override("torch", {quant: "scaled(factor=2)"}):
            assert torch.equal(slope(compiled)[1], torch.full((3,), 2.0))
        assert torch.equal(slope(compiled)[1], native)
    assert set(o.hits) == set(o.rules)


def test_a_formula_in_a_full_graph_and_under_grad_in_it() -> None:
    def formula(call: Any, g: Any) -> Any:
        return g * call.inputs["x"] + call.attributes["bits"]

    compiled = torch.compile(quant, fullgraph=True, backend="aot_eager")
    grad = torch.compile(torch.func.grad(lambda x: quant(x).sum()), fullgraph=True, backend="aot_eager")
    with surrogate.override("torch", {quant: formula}):
        assert torch.equal(slope(compiled)[1], X + 2)
        assert torch.equal(grad(X), X + 2)


@pytest.mark.parametrize("compiled", [False, True])
def test_overrides_act_inside_of_the_other_function_only_when_asked(compiled: bool) -> None:
    def steps(x: Any, bits: int = 2) -> Any:
        return torch.round(x) * 1.0 + x

    f = torch.compile(lambda x: quant(x), fullgraph=True, backend="aot_eager") if compiled else quant
    rules: dict[Any, Any] = {"round": "identity", quant: surrogate.of(steps)}
    with surrogate.override("torch", rules):
        assert torch.equal(slope(f)[1], torch.ones(3))
    rules[quant] = surrogate.of(steps, inner=True)
    with surrogate.override("torch", rules):
        assert torch.equal(slope(f)[1], 2 * torch.ones(3))


def test_a_method_of_a_module_made_before_and_what_it_holds() -> None:
    layer = Quantizer()
    path = f"{__name__}.Quantizer.forward"
    with (
        pytest.raises(surrogate.FormulaError, match=r"depends on self\.scale, which is no argument"),
        surrogate.override("torch", {path: "identity"}),
    ):
        layer(X)
    with surrogate.override("torch", {path: surrogate.of(Quantizer.smooth)}):
        layer(X).sum().backward()
    assert layer.scale.grad is not None
    assert layer.scale.grad.item() == pytest.approx(X.sum().item(), abs=1e-6)
    layer.scale.requires_grad_(False)
    with surrogate.override("torch", {path: "identity"}) as o:
        assert torch.equal(slope(layer)[1], torch.ones(3))
    assert o.hits == {path: 1}


def test_numpy_inside() -> None:
    with surrogate.override("torch", {by_numpy: "identity"}):
        y, g = slope(by_numpy)
    assert torch.equal(y, torch.floor(X))
    assert torch.equal(g, torch.ones(3))


def test_trees_keywords_several_outputs_and_integers() -> None:
    x = X.clone().requires_grad_()
    with surrogate.override("torch", {tree: "identity"}):
        out = tree({"a": x}, y=x)
    assert torch.equal(torch.autograd.grad(out["floor"].sum() * 3, x)[0], torch.full((3,), 3.0))
    assert not out["sign"].requires_grad
    assert out["index"] == 1


# a reentrant checkpoint records in the backward alone, after the block
@pytest.mark.filterwarnings("ignore::surrogate.NothingCapturedWarning")
@pytest.mark.parametrize("reentrant", [False, True])
def test_recomputation_after_the_block(reentrant: bool) -> None:
    x = X.clone().requires_grad_()
    with surrogate.override("torch", {quant: "identity"}):
        y = torch.utils.checkpoint.checkpoint(lambda x: quant(x) * x, x, use_reentrant=reentrant)
    y.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, Q + X)


def test_every_mode_agrees() -> None:
    with surrogate.override("torch", {quant: "identity"}):
        value, moved = torch.func.jvp(quant, (X,), (torch.full((3,), 2.0),))
        hessian = torch.func.hessian(lambda x: (quant(x) * x).sum())(X)
        twice = torch.func.jacfwd(torch.func.jacfwd(lambda x: (quant(x) * x).sum()))(X)
    assert torch.equal(value, Q)
    assert torch.equal(moved, torch.full((3,), 2.0))
    assert torch.equal(hessian, 2 * torch.eye(3))
    assert torch.equal(twice, 2 * torch.eye(3))


def test_a_formula_without_jvp_has_no_forward_mode() -> None:
    with (
        pytest.raises(surrogate.ForwardModeError, match="register it with jvp="),
        surrogate.override("torch", {quant: lambda call, g: g}),
    ):
        torch.func.jvp(quant, (X,), (X,))


def test_the_result_may_be_changed_in_place() -> None:
    x = X.clone().requires_grad_()
    with surrogate.override("torch", {quant: "identity"}):
        y = quant(x)
        y += 1
    y.sum().backward()
    assert torch.equal(y, Q + 1)
    assert x.grad is not None
    assert torch.equal(x.grad, torch.ones(3))


def test_other_threads_are_native_and_use_reaches_them() -> None:
    found: dict[str, Any] = {}

    def work(name: str) -> None:
        found[name] = quant(X.clone().requires_grad_()).requires_grad

    with surrogate.override("torch", {quant: "identity"}):
        assert slope(quant)[1].sum() == 3
        thread = threading.Thread(target=work, args=("override",))
        thread.start()
        thread.join()
    with surrogate.use("torch", {quant: "identity"}):
        thread = threading.Thread(target=work, args=("use",))
        thread.start()
        thread.join()
    assert found == {"override": False, "use": True}


def test_undone_it_is_as_it_was_and_copies_are_equal() -> None:
    code = quant.__code__
    made = surrogate.override("torch", {quant: "identity"})
    with made:
        assert quant.__code__ is not code
        slope(quant)
    assert quant.__code__ is code
    assert copy.deepcopy(made).rules == made.rules


def test_a_wrong_formula_is_named() -> None:
    with (
        pytest.raises(surrogate.FormulaError, match=r"gives x a cotangent of shape \(\); it must have"),
        surrogate.override("torch", {quant: lambda call, g: g.sum()}),
    ):
        slope(quant)


def test_eager_calls_with_a_formula_are_not_remembered() -> None:
    from surrogate_torch import _graft

    def stairs(x: torch.Tensor) -> torch.Tensor:
        return torch.floor(x)

    before, x = len(_graft._ASKED), torch.tensor([0.5, 1.5])
    with surrogate.override("torch", {stairs: lambda call, g: 3 * g}):
        for _ in range(3):
            slope = torch.func.vmap(torch.func.grad(lambda x: stairs(x).sum()))
            assert slope(x).tolist() == [3.0, 3.0]
            y = stairs(x.clone().requires_grad_())
    assert y.requires_grad
    assert len(_graft._ASKED) == before
