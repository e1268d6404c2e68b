"""What the kit's check of every spelling does not say: shapes that broadcast, lists, refusals, mixtures."""

import functools

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 -- as everybody writes it
from torch import sign as sign_imported_before_any_override

import surrogate
from surrogate import reference

X = torch.tensor([-2.7, -1.0, -0.4, 0.0, 0.3, 1.0, 2.5], dtype=torch.float64)
Y = torch.tensor([3.0, -3.0, 0.5, -0.25, 3.0, -3.0, 0.5], dtype=torch.float64)
LO, HI = torch.tensor(-1.0, dtype=torch.float64), torch.tensor(1.0, dtype=torch.float64)


def value_and_gradient(function, x):
    leaf = x.clone().requires_grad_()
    y = function(leaf)
    return y.detach(), torch.autograd.grad(y.sum(), leaf)[0]


@pytest.mark.parametrize("function", [sign_imported_before_any_override, torch.vmap(torch.sign)])
def test_a_function_that_was_taken_before(function):
    with surrogate.override("torch", {"sign": "arctan"}) as override:
        y, gradient = value_and_gradient(function, X)
    assert torch.equal(y, X.sign())
    expected = reference.vjp("sign", "arctan", X.numpy())[0]
    np.testing.assert_allclose(gradient.numpy(), expected, rtol=1e-14)
    assert override.hits["sign"] == 1


TWO_TENSORS = [
    pytest.param("mod", "sine", torch.remainder, id="remainder"),
    pytest.param("mod", "sine", lambda x, y: x % y, id="%"),
    pytest.param("fmod", "exact", torch.fmod, id="fmod"),
    pytest.param("floor_divide", "identity", lambda x, y: x // y, id="//"),
    pytest.param("floor_divide", "identity", functools.partial(torch.div, rounding_mode="floor"), id="div"),
    pytest.param("heaviside", "arctan", torch.heaviside, id="heaviside"),
]


@pytest.mark.parametrize("shape", [(7,), (2, 7), (2, 1)], ids=str)
@pytest.mark.parametrize(("op", "spec", "function"), TWO_TENSORS)
def test_two_tensors_of_shapes_that_broadcast(op, spec, function, shape):
    x = X.expand(2, 7).clone().requires_grad_()
    y = Y[: shape[-1]].expand(shape).clone().requires_grad_()
    with surrogate.override("torch", {op: spec}):
        gradients = torch.autograd.grad(function(x, y).sum(), (x, y))
    expected = reference.vjp(op, spec, x.detach().numpy(), y.detach().numpy())
    for got, want in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-13, atol=1e-13)


def test_the_bounds_of_clamp_get_their_gradient():
    x, lo, hi = (t.clone().requires_grad_() for t in (X, LO, HI))
    with surrogate.override("torch", {"clip": "closed"}):
        gradients = torch.autograd.grad(torch.clamp(x, lo, hi).sum(), (x, lo, hi))
    assert gradients[0].tolist() == [0, 1, 1, 1, 1, 1, 0]
    assert [gradients[1].item(), gradients[2].item()] == [1, 1]


@pytest.mark.parametrize("mode", [None, "trunc"], ids=str)
def test_other_rounding_modes_of_div_are_native(mode):
    x = X.clone().requires_grad_()
    native = torch.autograd.grad(torch.div(x, 2, rounding_mode=mode).sum(), x)[0]
    with surrogate.override("torch", {"floor_divide": "identity", "trunc": "identity"}):
        torch.trunc(x)
        torch.div(x, 2, rounding_mode="floor")
        assert torch.equal(torch.autograd.grad(torch.div(x, 2, rounding_mode=mode).sum(), x)[0], native)


def test_relu6_is_not_clip_and_clip_is_not_relu6():
    x = torch.tensor([-1.0, 3.0, 7.0], requires_grad=True)
    with surrogate.override("torch", {"clip": "identity"}) as override:
        F.hardtanh(x)
        (gradient,) = torch.autograd.grad(F.relu6(x).sum(), x)
    assert gradient.tolist() == [0, 1, 0]
    assert override.hits["clip"] == 1


def test_out_is_refused_while_recording_and_native_without():
    out = torch.empty(7, dtype=torch.float64)
    with surrogate.override("torch", {"sign": "identity"}):
        torch.sign(X.clone().requires_grad_())
        with pytest.raises(
            RuntimeError, match=r"out=\.\.\. arguments don't support automatic differentiation"
        ):
            torch.sign(X.clone().requires_grad_(), out=out)
        with torch.no_grad():
            assert torch.equal(torch.sign(X, out=out), torch.sign(X))


def test_a_leaf_cannot_be_changed_in_place():
    with surrogate.override("torch", {"sign": "identity"}):
        torch.sign(X.clone().requires_grad_())
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            X.clone().requires_grad_().sign_()


def test_integers_cannot_take_a_fraction_in_place():
    """PyTorch's own error, and no fraction cut off without a word."""
    y = torch.tensor(0.7, requires_grad=True)
    with surrogate.override("torch", {"mod": "exact"}):
        torch.ones(3) % y
        with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type"):
            torch.arange(3).remainder_(y)


def test_unknown_op_is_refused_with_a_suggestion():
    with pytest.raises(surrogate.UnknownOpError, match="sign"):
        surrogate.use("torch", {"sgin": "identity"})


FOREACH = {
    "_foreach_sign": ("sign", "arctan", (), ()),
    "_foreach_abs": ("abs", "sign0", (), ()),
    "_foreach_round": ("round", "sine", (), ()),
    "_foreach_floor": ("floor", "sine", (), ()),
    "_foreach_clamp_min": ("clip", "half", (-1.0,), (-1.0, np.inf)),
    "_foreach_clamp_max": ("clip", "half", ([1.0, 1.0],), (-np.inf, 1.0)),
}


@pytest.mark.parametrize("suffix", ["", "_"], ids=["new", "in place"])
@pytest.mark.parametrize("name", FOREACH)
def test_lists_of_tensors(name, suffix):
    op, spec, arguments, others = FOREACH[name]
    leaves = [X.clone().requires_grad_(), X[:3].clone().requires_grad_()]
    tensors = [leaf.clone() for leaf in leaves]
    with surrogate.override("torch", {op: spec}):
        found = getattr(torch, name + suffix)(tensors, *arguments)
    results = tensors if suffix else found
    native = getattr(torch, name)([leaf.detach() for leaf in leaves], *arguments)
    gradients = torch.autograd.grad(sum(y.sum() for y in results), leaves)
    for leaf, y, expected, gradient in zip(leaves, results, native, gradients, strict=True):
        assert torch.equal(y.detach(), expected)
        np.testing.assert_allclose(
            gradient.numpy(), reference.vjp(op, spec, leaf.detach().numpy(), *others)[0], rtol=1e-13
        )
