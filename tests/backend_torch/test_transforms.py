"""torch.func, dual numbers and double backward give the reference's numbers, nested in any order."""

import warnings

import numpy as np
import pytest
import torch
from torch.autograd import forward_ad
from torch.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

import surrogate
from surrogate import reference

X = torch.tensor([-1.2, -0.5, 0.3, 0.9], dtype=torch.float64)
ONES = torch.ones_like(X)
SPEC = "arctan"
SIGN = np.sign(X.numpy())
FIRST = reference.vjp("sign", SPEC, X.numpy())[0]
SECOND = reference.second("sign", SPEC, X.numpy())[0]
# of sign(x) * x, whose nested derivatives show a term that those of sign(x) alone hide
SLOPE = FIRST * X.numpy() + SIGN
CURVE = SECOND * X.numpy() + 2 * FIRST


def f(x):
    return (torch.sign(x) * x).sum()


def close(got, expected):
    np.testing.assert_allclose(np.asarray(got.detach()), expected, rtol=1e-12, atol=1e-12)


@pytest.fixture(autouse=True)
def rules():
    with surrogate.override("torch", {"sign": SPEC}):
        yield
        torch.sign(X.clone().requires_grad_())


def tangents(x):
    return torch.stack([jvp(f, (x,), (row,))[1] for row in torch.eye(4, dtype=x.dtype)])


def linear(x):
    _, push = linearize(f, x)
    return torch.stack([push(row) for row in torch.eye(4, dtype=x.dtype)])


FIRST_ORDER = {
    "grad": grad(f),
    "vjp": lambda x: vjp(f, x)[1](torch.tensor(1.0, dtype=x.dtype))[0],
    "jvp": tangents,
    "linearize": linear,
    "jacrev": jacrev(f),
    "jacfwd": jacfwd(f),
    "vmap(grad)": lambda x: vmap(grad(f))(x[:, None])[:, 0],
    "grad(vmap)": grad(lambda x: vmap(f)(x[:, None]).sum()),
    "jacfwd(vmap)": lambda x: jacfwd(lambda x: vmap(f)(x[:, None]))(x).diagonal(),
    "autograd.functional": lambda x: torch.autograd.functional.jacobian(f, x),
}


@pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node")  # torch's own, in linearize
@pytest.mark.parametrize("transform", FIRST_ORDER.values(), ids=FIRST_ORDER)
def test_first_order(transform):
    close(transform(X), SLOPE)


def double_backward(x):
    leaf = x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)
    return torch.autograd.grad(slope.sum(), leaf)[0].diag()


def batched_backward(x):
    leaf = x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)
    return torch.autograd.grad(slope, leaf, torch.eye(4, dtype=x.dtype), is_grads_batched=True)[0]


PAIRS = {
    f"{outer.__name__}({inner.__name__})": outer(inner(f))
    for outer in (jacfwd, jacrev)
    for inner in (grad, jacfwd, jacrev)
}
SECOND_ORDER = PAIRS | {
    "hessian": hessian(f),
    "grad(grad)": lambda x: vmap(grad(lambda x, e: grad(f)(x) @ e), (None, 0))(
        x, torch.eye(4, dtype=x.dtype)
    ),
    "vmap(grad(grad))": lambda x: vmap(grad(grad(lambda x: torch.sign(x) * x)))(x).diag(),
    "vmap(hessian)": lambda x: vmap(hessian(f))(x[:, None])[:, 0, 0].diag(),
    "double backward": double_backward,
    "batched double backward": batched_backward,
    "autograd.functional.hessian": lambda x: torch.autograd.functional.hessian(f, x),
}


@pytest.mark.parametrize("transform", SECOND_ORDER.values(), ids=SECOND_ORDER)
def test_second_order(transform):
    close(transform(X), np.diag(CURVE))


THIRD_ORDER = [
    (outer, middle, inner)
    for outer in (jacfwd, jacrev)
    for middle in (jacfwd, jacrev)
    for inner in (jacfwd, jacrev)
]


def name(case):
    return "_".join(transform.__name__ for transform in case)


@surrogate.register("relu", name="backend_torch_true")
def true_relu(xp, x):
    """relu's own derivative: overriding by it must change no transform."""
    return xp.where(x > 0, xp.ones_like(x), xp.zeros_like(x))


@pytest.mark.parametrize("transforms", THIRD_ORDER, ids=name)
def test_third_order_of_a_rule_that_is_the_native_derivative(transforms):
    outer, middle, inner = transforms

    def cubic(x):
        return (torch.relu(x * x - 0.5) * x).sum()

    native = outer(middle(inner(cubic)))(X)
    with surrogate.override("torch", {"relu": "backend_torch_true"}):
        close(outer(middle(inner(cubic)))(X), native.numpy())


def test_dual_numbers():
    with forward_ad.dual_level():
        y = torch.sign(forward_ad.make_dual(X, ONES))
        close(forward_ad.unpack_dual(y).tangent, FIRST)


def test_reverse_over_dual_numbers():
    leaf = X.clone().requires_grad_()
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(torch.sign(forward_ad.make_dual(leaf, ONES))).tangent
        close(torch.autograd.grad(tangent.sum(), leaf)[0], SECOND)


def test_dual_numbers_over_reverse():
    leaf = X.clone().requires_grad_()
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(leaf, ONES)
        (slope,) = torch.autograd.grad(torch.sign(dual).sum(), dual, create_graph=True)
        close(forward_ad.unpack_dual(slope).tangent, SECOND)


def test_inner_no_grad_cuts_the_inner_derivative_only():
    def cut(x):
        with torch.no_grad():
            y = torch.sign(x)
        return (y * x).sum()

    close(grad(cut)(X), SIGN)
    close(jacfwd(grad(cut))(X).diagonal(), FIRST)


def test_operands_that_broadcast_under_transforms():
    x = X.expand(2, 4).clone()
    y = torch.tensor([0.7, 0.3, 0.2, 0.9], dtype=torch.float64)
    with surrogate.override("torch", {"mod": "sine"}):
        got = vjp(torch.remainder, x, y)[1](torch.ones_like(x))
        tangent = jvp(torch.remainder, (x, y), (torch.ones_like(x), torch.ones_like(y)))[1]
    for a, b in zip(got, reference.vjp("mod", "sine", x, y), strict=True):
        close(a, b)
    close(tangent, reference.jvp("mod", "sine", x, y))


NUMBERS = {
    "2 // y": (lambda y: 2 // y, lambda y: reference.vjp("floor_divide", "identity", 2.0, y)[1]),
    "y // 2": (lambda y: y // 2, lambda y: reference.vjp("floor_divide", "identity", y, 2.0)[0]),
    "2 % y": (lambda y: 2 % y, lambda y: reference.vjp("mod", "exact", 2.0, y)[1]),
    "div": (
        lambda y: torch.div(2, y, rounding_mode="floor"),
        lambda y: reference.vjp("floor_divide", "identity", 2.0, y)[1],
    ),
}


@pytest.mark.parametrize(("function", "expected"), NUMBERS.values(), ids=NUMBERS)
def test_numbers_in_tensor_slots(function, expected):
    with surrogate.override("torch", {"floor_divide": "identity", "mod": "exact"}):
        close(grad(lambda y: function(y).sum())(X), expected(X.numpy()))
        close(vmap(grad(function))(X), expected(X.numpy()))
        close(jvp(function, (X,), (ONES,))[1], expected(X.numpy()))


@pytest.mark.filterwarnings("ignore::surrogate.NothingCapturedWarning")  # integers are not captured
def test_integers_beside_a_transform_are_native():
    index = torch.arange(4)
    with surrogate.override("torch", {"floor_divide": "identity"}):
        close(grad(lambda x: (x * (index // 2)).sum())(X), [0, 0, 1, 1])


@surrogate.register("sign", name="backend_torch_upstream", upstream=True)
def of_upstream(xp, g, x):
    """The upstream gradient where it is positive."""
    return xp.maximum(g, 0.0)


def dual(f, x, t):
    with forward_ad.dual_level():
        return f(forward_ad.make_dual(x, t))


@pytest.mark.parametrize("forward", [lambda f, x, t: jvp(f, (x,), (t,)), dual], ids=["jvp", "dual_level"])
def test_a_rule_of_the_upstream_gradient_has_no_forward_mode(forward):
    with surrogate.override("torch", {"sign": "backend_torch_upstream"}):
        close(grad(lambda x: torch.sign(x).sum())(X), np.ones(4))
        with pytest.raises(surrogate.ForwardModeError, match="reverse mode"):
            forward(torch.sign, X, ONES)


def test_vmap_alone_sees_the_rule_of_what_it_maps():
    leaf = X.clone().requires_grad_()
    close(torch.autograd.grad(vmap(torch.sign)(leaf).sum(), leaf)[0], FIRST)


def test_no_warning_of_ours():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hessian(f)(X)
