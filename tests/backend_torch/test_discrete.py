"""What becomes of a comparison: each use gives the gradient of the same program written with floats."""

import copy
import gc
import pickle
import warnings
import weakref

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from surrogate_torch import _origins
from torch.autograd import forward_ad
from torch.utils.checkpoint import checkpoint

import surrogate

RULES = {"compare": "arctan", "heaviside": "arctan"}
X = torch.tensor([-1.0, 0.3, 0.0, 2.0, -0.2, 0.6], dtype=torch.float64)
W = torch.tensor([1.0, -2.0, 3.0, 0.5, -1.5, 2.5], dtype=torch.float64)
OTHER = torch.tensor([True, False, True, True, False, False])


def step(x):
    return torch.heaviside(x, torch.zeros((), dtype=x.dtype))


def put(x, b):
    x = x.clone()
    x[b] = 0.75
    return x


def put_in_place(x, b):
    return x.clone().masked_fill_(b, 0.75)


def filled(s, x):
    return s * 0.75 + (1 - s) * x


def stored(b):
    x = torch.zeros(2, 6, dtype=torch.float64)
    x[1] = b
    return x


#: name -> with the boolean, and with the float that it is.
USES = {
    "double": (lambda b, x: b.double(), lambda s, x: s),
    "to": (lambda b, x: b.to(torch.float64), lambda s, x: s),
    "type_as": (lambda b, x: b.type_as(x), lambda s, x: s),
    "to_device": (lambda b, x: b.to("cpu", torch.float64), lambda s, x: s),
    "long": (lambda b, x: b.long().double(), lambda s, x: s),
    "int_and_back": (lambda b, x: b.int().bool().double(), lambda s, x: s),
    "mul": (lambda b, x: b * x, lambda s, x: s * x),
    "rmul": (lambda b, x: x * b, lambda s, x: x * s),
    "torch.mul": (lambda b, x: torch.mul(x, b), lambda s, x: x * s),
    "mul_": (lambda b, x: x.clone().mul_(b), lambda s, x: x * s),
    "imul": (lambda b, x: imul(x.clone(), b), lambda s, x: x * s),
    "add": (lambda b, x: b + W, lambda s, x: s + W),
    "radd": (lambda b, x: x + b, lambda s, x: x + s),
    "sub": (lambda b, x: x - b.long(), lambda s, x: x - s),
    "rsub": (lambda b, x: 1.0 - b.double(), lambda s, x: 1 - s),
    "rsub_int": (lambda b, x: (1 - b.long()).double(), lambda s, x: 1 - s),
    "div": (lambda b, x: b / (2.0 + x), lambda s, x: s / (2 + x)),
    "where": (lambda b, x: torch.where(b, x, -3 * x), lambda s, x: s * x + (1 - s) * (-3 * x)),
    "where_number": (lambda b, x: torch.where(b, x, 0.5), lambda s, x: s * x + (1 - s) * 0.5),
    "where_method": (lambda b, x: x.where(b, x * x), lambda s, x: s * x + (1 - s) * x * x),
    "where_int": (lambda b, x: torch.where(b, 3, -2).double(), lambda s, x: 5 * s - 2),
    "masked_fill": (lambda b, x: x.masked_fill(b, 0.75), filled),
    "masked_fill_": (lambda b, x: put_in_place(x, b), filled),
    "setitem": (lambda b, x: put(x, b), filled),
    "setitem_constant": (lambda b, x: put(W.clone(), b), lambda s, x: filled(s, W)),
    "row": (lambda b, x: stored(b).sum(0), lambda s, x: s),
    "not": (lambda b, x: (~b).double(), lambda s, x: 1 - s),
    "logical_not": (lambda b, x: torch.logical_not(b).double(), lambda s, x: 1 - s),
    "and": (lambda b, x: (b & OTHER).double(), lambda s, x: s * OTHER),
    "or": (lambda b, x: (OTHER | b).double(), lambda s, x: s + OTHER * (1 - s)),
    "xor": (lambda b, x: (b ^ OTHER).double(), lambda s, x: s + OTHER * (1 - 2 * s)),
    "and_both": (lambda b, x: (b & (x > 0.25)).double(), lambda s, x: s * step(x - 0.25)),
    "or_both": (
        lambda b, x: torch.logical_or(b, x > 0.25).double(),
        lambda s, x: 1 - (1 - s) * (1 - step(x - 0.25)),
    ),
    "all": (lambda b, x: b[:2].all().double() * W, lambda s, x: s[0] * s[1] * W),
    "all_dim": (lambda b, x: b.view(2, 3).all(1).double(), lambda s, x: s.view(2, 3).prod(1)),
    "any": (lambda b, x: b[:3].any().double() * W, lambda s, x: (1 - (1 - s[:3]).prod()) * W),
    "sum": (lambda b, x: b.sum().double() * W, lambda s, x: s.sum() * W),
    "sum_dim": (lambda b, x: b.view(2, 3).sum(0).double(), lambda s, x: s.view(2, 3).sum(0)),
    "sum_float": (lambda b, x: b.sum(dtype=torch.float64) * W, lambda s, x: s.sum() * W),
    "mean_float": (lambda b, x: b.double().mean() * W, lambda s, x: s.mean() * W),
    "count_nonzero": (lambda b, x: torch.count_nonzero(b).double() * W, lambda s, x: s.sum() * W),
    "view": (lambda b, x: b.view(2, 3).double(), lambda s, x: s.view(2, 3)),
    "reshape": (lambda b, x: b.reshape(3, 2).double(), lambda s, x: s.reshape(3, 2)),
    "T": (lambda b, x: b.view(2, 3).T.double(), lambda s, x: s.view(2, 3).T),
    "transpose": (lambda b, x: b.view(2, 3).transpose(0, 1).double(), lambda s, x: s.view(2, 3).T),
    "permute": (
        lambda b, x: b.view(1, 2, 3).permute(2, 0, 1).double(),
        lambda s, x: s.view(1, 2, 3).permute(2, 0, 1),
    ),
    "unsqueeze": (lambda b, x: b[:, None].squeeze(1).double(), lambda s, x: s),
    "expand": (lambda b, x: b.expand(2, 6).double(), lambda s, x: s.expand(2, 6)),
    "repeat": (lambda b, x: b.repeat(2).double(), lambda s, x: s.repeat(2)),
    "slice": (lambda b, x: b[1:5:2].double(), lambda s, x: s[1:5:2]),
    "select": (lambda b, x: b[3].double() * W, lambda s, x: s[3] * W),
    "index": (lambda b, x: b[torch.tensor([3, 1, 1])].double(), lambda s, x: s[torch.tensor([3, 1, 1])]),
    "flip": (lambda b, x: b.flip(0).double(), lambda s, x: s.flip(0)),
    "roll": (lambda b, x: b.roll(1).double(), lambda s, x: s.roll(1)),
    "split": (lambda b, x: b.split(2)[1].double(), lambda s, x: s.split(2)[1]),
    "chunk": (lambda b, x: b.chunk(3)[2].double(), lambda s, x: s.chunk(3)[2]),
    "unbind": (lambda b, x: b.unbind()[5].double() * W, lambda s, x: s[5] * W),
    "stack": (lambda b, x: torch.stack([b, OTHER]).double(), lambda s, x: torch.stack([s, OTHER.double()])),
    "cat": (lambda b, x: torch.cat([b, ~b]).double(), lambda s, x: torch.cat([s, 1 - s])),
    "cat_float": (lambda b, x: torch.cat([b, x]), lambda s, x: torch.cat([s, x])),
    "cumsum": (lambda b, x: b.cumsum(0).double(), lambda s, x: s.cumsum(0)),
    "clone": (lambda b, x: b.clone().double(), lambda s, x: s),
    "contiguous": (lambda b, x: b.view(2, 3).T.contiguous().double(), lambda s, x: s.view(2, 3).T),
    "integers": (lambda b, x: (b.long() * 6 // 2 * 2 + 1 - b.int()).double(), lambda s, x: 5 * s + 1),
    "negative": (lambda b, x: (-b.long()).double(), lambda s, x: -s),
}


def imul(x, b):
    x *= b
    return x


def loss(use, compare, x):
    y = use(compare(x), x)
    return (y * torch.linspace(-1, 2, y.numel(), dtype=torch.float64).reshape(y.shape)).sum()


def gradient(f, x=X):
    x = x.clone().requires_grad_()
    return torch.autograd.grad(f(x), x)[0]


MODES = {
    "eager": gradient,
    "func": lambda f: torch.func.grad(f)(X),
    "checkpoint": lambda f: gradient(lambda x: checkpoint(f, x, use_reentrant=False)),
    "forward": lambda f: torch.stack([torch.func.jvp(f, (X,), (row,))[1] for row in torch.eye(6).double()]),
    "second": lambda f: torch.func.hessian(f)(X),
    "vmap": lambda f: torch.func.vmap(torch.func.grad(f))(torch.stack([X, X.flip(0)])),
}


#: What PyTorch refuses: to change in place, by what is mapped, what is not.
NOT_MAPPED = ("setitem", "setitem_constant", "row")


@pytest.mark.filterwarnings("ignore:`torch.jit.script")
@pytest.mark.parametrize(
    ("name", "mode"), [(n, m) for n in USES for m in MODES if m != "vmap" or n not in NOT_MAPPED]
)
def test_a_use_has_the_gradient_of_the_float(name, mode):
    of_boolean, of_float = USES[name]
    native = of_boolean(X > 0, X.clone())
    with surrogate.override("torch", RULES):
        value = of_boolean(X.clone().requires_grad_() > 0, X.clone())
        found = MODES[mode](lambda x: loss(of_boolean, lambda x: x > 0, x))
        expected = MODES[mode](lambda x: loss(of_float, step, x))
    assert native.dtype == value.dtype
    assert torch.equal(native, value.detach())
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    assert found.abs().sum() > 0


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_all_uses_compiled(backend, fresh_compiler):
    every = [name for name in USES if name not in ("unbind", "chunk")]
    names = every if backend == "aot_eager" else every[::5]

    def all_of(kind, compare):
        return lambda x: torch.stack([loss(USES[name][kind], compare, x) for name in names])

    compiled = torch.compile(all_of(0, lambda x: x > 0), backend=backend, fullgraph=True)

    def jacobian(f):
        x = X.clone().requires_grad_()
        return torch.stack([torch.autograd.grad(y, x, retain_graph=True)[0] for y in f(x)])

    with surrogate.override("torch", RULES):
        found, expected = jacobian(compiled), jacobian(all_of(1, step))
    wrong = [
        name
        for name, a, b in zip(names, found, expected, strict=True)
        if not torch.allclose(a, b, 1e-12, 1e-12)
    ]
    assert not wrong


ORDERINGS = {
    "greater": torch.gt,
    "greater_equal": torch.ge,
    "less": torch.lt,
    "less_equal": torch.le,
    "equal": torch.eq,
    "not_equal": torch.ne,
}


@pytest.mark.parametrize("op", ORDERINGS)
def test_comparisons_are_the_references(op):
    for name in surrogate.gradients(op):
        x, y = X.clone().requires_grad_(), (X.flip(0) / 2).requires_grad_()
        with surrogate.override("torch", {op: name}):
            found = torch.autograd.grad(
                (ORDERINGS[op](x, y).double() * W).sum(), (x, y), materialize_grads=True
            )
        expected = surrogate.reference.vjp(op, name, x.detach().numpy(), y.detach().numpy(), g=W.numpy())
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a.numpy(), b, rtol=1e-12, atol=1e-12)


def test_a_threshold_gets_its_own_gradient():
    x = torch.stack([X, 2 * X]).requires_grad_()
    threshold = torch.full((6,), 0.25, dtype=torch.float64, requires_grad=True)
    with surrogate.override("torch", {"compare": "arctan"}):
        by_x, by_threshold = torch.autograd.grad(((x > threshold) * W).sum(), (x, threshold))
    torch.testing.assert_close(by_threshold, -by_x.sum(0), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("spec", surrogate.gradients("heaviside"))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_greater_and_heaviside_agree_bit_for_bit(spec, dtype):
    x, w = X.to(dtype), W.to(dtype)
    with surrogate.override("torch", {"compare": spec, "heaviside": spec}):
        found = gradient(lambda x: ((x > 0).to(dtype) * w).sum(), x)
        expected = gradient(lambda x: (step(x) * w).sum(), x)
        less = gradient(lambda x: (w - (x <= 0).to(dtype) * w).sum(), x)
    assert torch.equal(found, expected)
    assert torch.equal(less, expected)


LOGITS = torch.tensor([[0.1, 2.0, -1.0], [1.5, 1.0, 0.0]], dtype=torch.float64)
TABLE = torch.arange(12.0, dtype=torch.float64).reshape(3, 4).sin()

INDEX_USES = {
    "one_hot": (lambda i, t: F.one_hot(i, 3).double() @ t, lambda h, t: h @ t),
    "table": (lambda i, t: t[i], lambda h, t: h @ t),
    "embedding": (lambda i, t: F.embedding(i, t), lambda h, t: h @ t),
    "index_select": (lambda i, t: t.index_select(0, i), lambda h, t: h @ t),
    "columns": (lambda i, t: t.T[:, i], lambda h, t: (h @ t).T),
    "gather": (lambda i, t: LOGITS.gather(1, i[:, None]), lambda h, t: (h * LOGITS).sum(1, keepdim=True)),
    "take_along_dim": (
        lambda i, t: LOGITS.take_along_dim(i[:, None], 1),
        lambda h, t: (h * LOGITS).sum(1, keepdim=True),
    ),
    "rows_and_index": (lambda i, t: LOGITS[torch.arange(2), i], lambda h, t: (h * LOGITS).sum(1)),
    "is_class": (lambda i, t: (i == 1).double(), lambda h, t: h[:, 1]),
    "is_each_class": (lambda i, t: (i[:, None] == torch.arange(3)).double(), lambda h, t: h),
    "number": (lambda i, t: i.double(), lambda h, t: h @ torch.arange(3.0).double()),
    "reshaped": (lambda i, t: t[i.view(2, 1).T.reshape(-1)], lambda h, t: h @ t),
}


def soft(x, temperature):
    """The one-hot vector with softmax's derivative."""
    p = torch.softmax(x / temperature, -1)
    return F.one_hot(x.detach().argmax(-1), x.shape[-1]).double() + (p - p.detach())


@pytest.mark.parametrize("name", INDEX_USES)
def test_an_index_goes_through_its_one_hot_vector(name):
    of_index, of_one_hot = INDEX_USES[name]

    def total(use, choose, x, t):
        y = use(choose(x), t)
        return (y * torch.linspace(-1, 2, y.numel(), dtype=torch.float64).reshape(y.shape)).sum()

    x, t = LOGITS.clone().requires_grad_(), TABLE.clone().requires_grad_()
    wanted = torch.autograd.grad(
        total(of_one_hot, lambda x: soft(x, 0.5), x, t), (x, t), materialize_grads=True
    )
    with surrogate.override("torch", {"argmax": "softmax(temperature=0.5)"}):
        loss = total(of_index, lambda x: x.argmax(-1), x, t)
        found = torch.autograd.grad(loss, (x, t), materialize_grads=True)
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)
    with surrogate.override("torch", {"argmin": "softmax(temperature=0.5)"}):
        by_least = torch.autograd.grad(total(of_index, lambda x: (-x).argmin(-1), x, t), x)[0]
    torch.testing.assert_close(by_least, wanted[0], rtol=1e-12, atol=1e-12)


def rows_of(f):
    """The gradient by both through a map over rows, as the rows one by one give it."""
    x = torch.stack([LOGITS, LOGITS.flip(1)]).requires_grad_()
    t = torch.stack([TABLE, TABLE.flip(0)]).requires_grad_()
    w = torch.linspace(-1, 2, 16, dtype=torch.float64).reshape(2, 2, 4)
    return torch.autograd.grad((f(x, t) * w).sum(), (x, t))


def test_embedding_of_a_mapped_table():
    look_up = lambda x, t: F.embedding(x.argmax(-1), t)  # noqa: E731
    with surrogate.override("torch", {"argmax": "softmax"}):
        found = rows_of(torch.func.vmap(look_up))
        expected = rows_of(lambda x, t: torch.stack([look_up(*row) for row in zip(x, t, strict=True)]))
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


def test_one_hot_inside_a_transform_inside_a_compiled_function(fresh_compiler):
    f = lambda x: (F.one_hot(x.argmax(-1), 4).double()[:, :3] * LOGITS).sum()  # noqa: E731
    with surrogate.override("torch", {"argmax": "softmax"}):
        found = torch.compile(torch.func.grad(f), backend="aot_eager", fullgraph=True)(LOGITS)
        (expected,) = surrogate.reference.vjp(
            "argmax", "softmax", LOGITS.numpy(), g=LOGITS.numpy(), axis=-1, one_hot=True
        )
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("put_in", [put, put_in_place])
def test_masked_assignment_in_forward_mode_through_a_compiled_function(put_in, fresh_compiler):
    compiled = torch.compile(lambda x: put_in(x, x > 0), backend="aot_eager", fullgraph=True)
    with surrogate.override("torch", RULES):
        with forward_ad.dual_level():
            found = forward_ad.unpack_dual(compiled(forward_ad.make_dual(X, W))).tangent
        expected = torch.func.jvp(lambda x: filled(step(x), x), (X,), (W,))[1]
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("cast", [lambda x: x.long(), lambda x: x.int(), lambda x: x.to(torch.int16)])
def test_a_cast_to_an_integer(cast):
    with surrogate.override("torch", {"astype": "identity"}):
        found = gradient(lambda x: (cast(3 * x).double() * W).sum())
        halves = gradient(lambda x: ((cast(3 * x) // 2 * 2 + 1).double() * W).sum())
    assert torch.equal(found, 3 * W)
    assert torch.equal(halves, 3 * W)


def test_a_cast_to_bool():
    with surrogate.override("torch", {"astype": "gaussian"}):
        found = gradient(lambda x: (x.bool().double() * W).sum())
    expected = surrogate.reference.vjp("astype", "gaussian", X.numpy(), g=W.numpy(), to="bool")[0]
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)


BOUNDARIES = torch.tensor([-0.5, 0.1, 1.0], dtype=torch.float64)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("name", ["bucketize", "searchsorted"])
def test_an_index_among_boundaries(name, right):
    x, b = X.clone().requires_grad_(), BOUNDARIES.clone().requires_grad_()
    with surrogate.override("torch", {"searchsorted": "sigmoid"}):
        i = (
            torch.bucketize(x, b, right=right)
            if name == "bucketize"
            else torch.searchsorted(b, x, right=right)
        )
        found = torch.autograd.grad((i.double() * W).sum(), (x, b))
    expected = surrogate.reference.vjp("searchsorted", "sigmoid", X.numpy(), BOUNDARIES.numpy(), g=W.numpy())
    for a, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.numpy(), e, rtol=1e-12)


def test_an_infinite_upstream_gradient_at_a_closed_window_is_0():
    x = torch.tensor([-3.0, 0.25], requires_grad=True)
    with surrogate.override("torch", {"compare": "boxcar"}):
        found = torch.autograd.grad((x > 0).float(), x, torch.tensor([torch.inf, 1.0]))[0]
    assert found.tolist() == [0.0, 1.0]


def test_decided_when_it_is_compared():
    x = X.clone().requires_grad_()
    with surrogate.override("torch", {"compare": "arctan"}):
        inside = x > 0
    outside = x > 0
    assert not outside.double().requires_grad
    (found,) = torch.autograd.grad((inside.double() * W).sum(), x)
    np.testing.assert_allclose(
        found.numpy(),
        surrogate.reference.vjp("greater", "arctan", X.numpy(), 0.0, g=W.numpy())[0],
        rtol=1e-12,
    )


def test_changing_what_was_compared_does_not_change_the_gradient():
    x = X.clone().requires_grad_()
    with surrogate.override("torch", {"compare": "hardtanh"}):
        v = 2 * x
        spikes = v > 0.5
        v -= 10.0
        (found,) = torch.autograd.grad((spikes * W).sum(), x)
        expected = gradient(lambda x: (((2 * x) > 0.5) * W).sum())
    assert torch.equal(found, expected)


def test_a_boolean_that_was_changed_in_place_comes_from_elsewhere():
    with surrogate.override("torch", {"compare": "arctan"}):
        b = X.clone().requires_grad_() > 0
        with torch.no_grad():
            b.fill_(True)
        assert not b.double().requires_grad


@pytest.mark.parametrize("cut", [lambda b: bool(b.any()), lambda b: X[b], lambda b: b.tolist()])
def test_a_cut_warns_once_for_its_line(cut):
    with surrogate.override("torch", {"compare": "arctan"}):
        b = X.clone().requires_grad_() > 0
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(3):
                cut(b)
    found = [w for w in caught if issubclass(w.category, surrogate.SurrogateWarning)]
    assert len(found) <= 1
    assert all("cuts the gradient" in str(w.message) for w in found)


def test_what_takes_no_gradient_is_native():
    with surrogate.override("torch", RULES):
        step(X.clone().requires_grad_())
        assert type(X > 0) is torch.Tensor
        with torch.no_grad():
            assert type(X.clone().requires_grad_() > 0) is torch.Tensor


def origins_alive():
    return sum(type(x) is _origins.Origin for x in gc.get_objects())


def test_nothing_piles_up():
    """10,000 comparisons, each cast and differentiated or not, leave nothing behind."""
    x = X.clone().requires_grad_()
    gc.collect()
    before = origins_alive()
    with surrogate.override("torch", {"compare": "arctan"}):
        for step in range(10_000):
            spikes = (x > 0).double()
            if step % 10 == 0:
                (spikes * W).sum().backward()
        del spikes
        gc.collect()
        assert origins_alive() == before


@pytest.mark.parametrize("spec", ["identity", "boxcar", "arctan"])
def test_an_origin_keeps_its_inputs_no_longer_than_its_value(spec):
    with surrogate.override("torch", {"compare": spec}):
        v = 2 * X.clone().requires_grad_()
        ref, spikes = weakref.ref(v), v > 0
        (spikes * W).sum()
        del v
        gc.collect()
        assert (ref() is not None) == (spec == "arctan")  # a formula of x has x as long as there is a value
        del spikes
        assert ref() is None  # at once, without a collection


def test_what_is_kept_is_what_the_rule_keeps():
    def kept(f):
        sizes = []
        x = torch.linspace(-1, 1, 4096, requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(
            lambda t: sizes.append(t.untyped_storage().nbytes()), lambda t: t
        ):
            f(x)
        return sum(sizes)

    for spec, size in (("identity", 0), ("boxcar", 1), ("arctan", 4)):
        with surrogate.override("torch", {"compare": spec}):
            assert kept(lambda x: (x > 0).float()) == size * 4096


def test_modes_of_torch_are_left_alone():
    with surrogate.override("torch", {"compare": "arctan"}):
        b = X.clone().requires_grad_() > 0
        assert b.shape == (6,)
        assert b.dtype is torch.bool
        assert isinstance(b, torch.Tensor)
        assert repr(b).startswith(("tensor", "Discrete"))
        assert b.detach().numpy().dtype == np.bool_


def test_what_pytorch_compares_for_itself_stays_native():
    x = X.clone().requires_grad_()
    scale = (x * x + 1).detach().requires_grad_()
    with surrogate.override("torch", RULES | {"equal": "gaussian", "not_equal": "gaussian"}) as o:
        step(x)
        loss = F.gaussian_nll_loss(x, torch.zeros_like(x), scale)
        loss = loss - torch.distributions.Normal(x, scale).log_prob(torch.zeros_like(x)).sum()
        torch.autograd.grad(loss, (x, scale))
    assert +o.hits == {"heaviside": 1}


def test_it_can_be_copied_saved_and_shown():
    with surrogate.override("torch", {"compare": "arctan"}):
        b = X.clone().requires_grad_() > 0
    for other in (
        copy.deepcopy(b),
        pickle.loads(pickle.dumps(b)),
        b.to("cpu"),
        torch.zeros_like(b) | (X > 0),
    ):
        assert torch.equal(other, X > 0)


@pytest.mark.filterwarnings("ignore::UserWarning")  # of the compiler, about what it steps out of
def test_an_argument_of_a_compiled_function(fresh_compiler):
    with surrogate.override("torch", {"compare": "identity"}):
        x = X.clone().requires_grad_()
        y = torch.compile(lambda b: b.double() * W, backend="eager")(x > 0)
        (found,) = torch.autograd.grad(y.sum(), x)
    assert torch.equal(found, W)


def test_complex_numbers_keep_their_gradient_after_a_comparison_was_compiled(fresh_compiler):
    """The kernels that a compiler needs on arithmetic take numbers where PyTorch's take tensors."""
    compiled = torch.compile(lambda x: ((x > 0).float() * 2).sum(), backend="aot_eager")
    with surrogate.override("torch", {"greater": "identity"}):
        compiled(torch.ones(3, requires_grad=True)).backward()
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    for times in (lambda z: z * (3 + 4j), lambda z: (3 + 4j) * z):
        product = times(torch.complex(x, 3 * x).conj())
        (found,) = torch.autograd.grad(product.imag.sum(), x)  # (x - 3x j)(3 + 4j) = ... + (4x - 9x) j
        assert found.tolist() == [-5.0, -5.0]
