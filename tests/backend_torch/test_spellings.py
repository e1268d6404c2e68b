"""Every spelling of every op is caught, and gives what the reference gives."""

import functools
from operator import floordiv, mod

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 -- as everybody writes it
from torch import nn, sign as sign_imported_before_any_override

import surrogate
from surrogate import reference

X = torch.tensor([-2.7, -1.0, -0.4, 0.0, 0.3, 1.0, 2.5], dtype=torch.float64)
Y = torch.tensor([3.0, -3.0, 0.5, -0.25, 3.0, -3.0, 0.5], dtype=torch.float64)
HALF = torch.tensor(0.5, dtype=torch.float64)
LO, HI = torch.tensor(-1.0, dtype=torch.float64), torch.tensor(1.0, dtype=torch.float64)


def inplace(name, *args, **kwargs):
    """The method that changes its tensor, on a tensor that may be changed."""
    return lambda x: getattr(x.clone(), name)(*args, **kwargs)


def through_a_view(x):
    whole = torch.stack([x, x])
    whole[1].sign_()
    return whole[1]


# op, gradient, the op's other inputs, attributes, spellings
TABLE = [
    (
        "sign",
        "arctan",
        (),
        {},
        {
            "torch.sign": torch.sign,
            "from-import": sign_imported_before_any_override,
            "Tensor.sign": torch.Tensor.sign,
            "torch.sgn": torch.sgn,
            "Tensor.sgn": torch.Tensor.sgn,
            "torch.ops": torch.ops.aten.sign.default,
            "sign_": inplace("sign_"),
            "sgn_": inplace("sgn_"),
            "view.sign_": through_a_view,
            "vmap": torch.vmap(torch.sign),
        },
    ),
    (
        "round",
        "sine",
        (),
        {},
        {
            "torch.round": torch.round,
            "Tensor.round": torch.Tensor.round,
            "torch.special.round": torch.special.round,
            "round_": inplace("round_"),
            "decimals=0": lambda x: torch.round(x, decimals=0),
        },
    ),
    (
        "round",
        "sine",
        (),
        {"decimals": 1},
        {
            "torch.round": lambda x: torch.round(x, decimals=1),
            "Tensor.round": lambda x: x.round(decimals=1),
            "torch.special.round": lambda x: torch.special.round(x, decimals=1),
            "round_": inplace("round_", decimals=1),
        },
    ),
    (
        "floor",
        "sine",
        (),
        {},
        {"torch.floor": torch.floor, "method": torch.Tensor.floor, "floor_": inplace("floor_")},
    ),
    (
        "ceil",
        "sine",
        (),
        {},
        {"torch.ceil": torch.ceil, "method": torch.Tensor.ceil, "ceil_": inplace("ceil_")},
    ),
    (
        "trunc",
        "sine",
        (),
        {},
        {
            "torch.trunc": torch.trunc,
            "method": torch.Tensor.trunc,
            "torch.fix": torch.fix,
            "Tensor.fix": torch.Tensor.fix,
            "trunc_": inplace("trunc_"),
            "fix_": inplace("fix_"),
        },
    ),
    (
        "mod",
        "sine",
        (0.7,),
        {},
        {
            "%": lambda x: x % 0.7,
            "operator.mod": lambda x: mod(x, 0.7),
            "torch.remainder": lambda x: torch.remainder(x, 0.7),
            "method": lambda x: x.remainder(0.7),
            "remainder_": inplace("remainder_", 0.7),
            "%=": inplace("__imod__", 0.7),
        },
    ),
    (
        "fmod",
        "exact",
        (0.7,),
        {},
        {"torch.fmod": lambda x: torch.fmod(x, 0.7), "fmod_": inplace("fmod_", 0.7)},
    ),
    (
        "floor_divide",
        "identity",
        (2,),
        {},
        {
            "//": lambda x: x // 2,
            "operator.floordiv": lambda x: floordiv(x, 2),
            "torch.floor_divide": lambda x: torch.floor_divide(x, 2),
            "method": lambda x: x.floor_divide(2),
            "torch.div": lambda x: torch.div(x, 2, rounding_mode="floor"),
            "torch.divide": lambda x: torch.divide(x, 2, rounding_mode="floor"),
            "floor_divide_": inplace("floor_divide_", 2),
            "//=": inplace("__ifloordiv__", 2),
            "div_": inplace("div_", 2, rounding_mode="floor"),
        },
    ),
    (
        "heaviside",
        "arctan",
        (0.5,),
        {},
        {
            "torch.heaviside": lambda x: torch.heaviside(x, HALF),
            "method": lambda x: x.heaviside(HALF),
            "heaviside_": inplace("heaviside_", HALF),
        },
    ),
    (
        "clip",
        "half",
        (-1.0, 1.0),
        {},
        {
            "torch.clamp": lambda x: torch.clamp(x, -1, 1),
            "torch.clip": lambda x: torch.clip(x, -1.0, 1.0),
            "keywords": lambda x: x.clamp(max=1.0, min=-1.0),
            "tensors": lambda x: torch.clamp(x, LO, HI),
            "F.hardtanh": F.hardtanh,
            "nn.Hardtanh": nn.Hardtanh(),
            "F.hardtanh_": lambda x: F.hardtanh_(x.clone()),
            "clamp_": inplace("clamp_", -1.0, 1.0),
            "clip_": inplace("clip_", LO, HI),
        },
    ),
    (
        "clip",
        "half",
        (-np.inf, 1.0),
        {},
        {
            "clamp_max": lambda x: torch.clamp_max(x, 1.0),
            "clamp_max tensor": lambda x: torch.clamp_max(x, HI),
            "clamp_max_": inplace("clamp_max_", 1.0),
            "clamp(max=)": lambda x: x.clamp(max=1.0),
            "clip(max=tensor)": lambda x: x.clip(max=HI),
        },
    ),
    (
        "clip",
        "half",
        (-1.0, np.inf),
        {},
        {
            "clamp_min": lambda x: torch.clamp_min(x, -1.0),
            "clamp_min tensor": lambda x: torch.clamp_min(x, LO),
            "clamp_min_": inplace("clamp_min_", LO),
            "clamp(min=)": lambda x: x.clamp(-1.0),
        },
    ),
    (
        "relu",
        "sigmoid",
        (),
        {},
        {
            "torch.relu": torch.relu,
            "Tensor.relu": torch.Tensor.relu,
            "F.relu": F.relu,
            "nn.ReLU": nn.ReLU(),
            "relu_": inplace("relu_"),
            "nn.ReLU(inplace)": lambda x: nn.ReLU(inplace=True)(x.clone()),
        },
    ),
    (
        "relu6",
        "identity",
        (),
        {},
        {
            "F.relu6": F.relu6,
            "nn.ReLU6": nn.ReLU6(),
            "F.hardtanh(0, 6)": lambda x: F.hardtanh(x, 0.0, 6.0),
            "F.relu6(inplace)": lambda x: F.relu6(x.clone(), inplace=True),
        },
    ),
    (
        "abs",
        "sign0",
        (),
        {},
        {
            "torch.abs": torch.abs,
            "Tensor.abs": torch.Tensor.abs,
            "abs": abs,
            "absolute": torch.absolute,
            "abs_": inplace("abs_"),
            "absolute_": inplace("absolute_"),
        },
    ),
]
CASES = [
    pytest.param(op, spec, others, attributes, function, id=f"{op}-{name}")
    for op, spec, others, attributes, spellings in TABLE
    for name, function in spellings.items()
]


def value_and_gradient(function, x):
    leaf = x.clone().requires_grad_()
    y = function(leaf)
    return y.detach(), torch.autograd.grad(y.sum(), leaf)[0]


@pytest.mark.parametrize(("op", "spec", "others", "attributes", "function"), CASES)
def test_spelling(op, spec, others, attributes, function):
    native = function(X.clone())
    with surrogate.override("torch", {op: spec}) as override:
        y, gradient = value_and_gradient(function, X)
    assert torch.equal(y, native)
    expected = reference.vjp(op, spec, X.numpy(), *others, **attributes)[0]
    np.testing.assert_allclose(gradient.numpy(), expected, rtol=1e-14, atol=1e-14)
    assert override.hits[op] == 1


REFLECTED = [
    pytest.param("mod", "sine", lambda y: 2 % y, id="2 % y"),
    pytest.param("mod", "sine", lambda y: torch.remainder(2, y), id="remainder(2, y)"),
    pytest.param("floor_divide", "identity", lambda y: 2 // y, id="2 // y"),
    pytest.param(
        "floor_divide", "identity", lambda y: torch.div(2, y, rounding_mode="floor"), id="div(2, y)"
    ),
]


@pytest.mark.parametrize(("op", "spec", "function"), REFLECTED)
def test_reflected(op, spec, function):
    native = function(Y)
    with surrogate.override("torch", {op: spec}):
        y, gradient = value_and_gradient(function, Y)
    assert torch.equal(y, native)
    np.testing.assert_allclose(
        gradient.numpy(), reference.vjp(op, spec, 2.0, np.asarray(Y))[1], rtol=1e-14, atol=1e-14
    )


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
