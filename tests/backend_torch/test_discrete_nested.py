"""Booleans and indices with an origin under ``vmap`` in a gradient, and in second derivatives."""

import torch
from torch.autograd import forward_ad

import surrogate
from surrogate import reference

X = torch.sin(1.3 + 3.7 * torch.arange(12.0, dtype=torch.float64)).reshape(3, 4)
TABLE = torch.arange(8.0, dtype=torch.float64).reshape(4, 2).cos()

#: The rows of a mapped table and mapped logits, by an index along the last axis.
LOOKED_UP = {
    "table": lambda i, table, x: table[i],
    "reshaped": lambda i, table, x: table[i[:, None]].squeeze(1),
    "along": lambda i, table, x: x.take_along_dim(i[:, None], -1),
    "pairs": lambda i, table, x: x[torch.arange(3), i],
    "each": lambda i, table, x: (i[:, None] == torch.arange(4)).double(),
}


def weights(y):
    return torch.linspace(-1, 2, y.numel(), dtype=torch.float64).reshape(y.shape)


def test_a_mapped_look_up_in_a_gradient_is_each_ones_own():
    tables, xs = torch.stack([TABLE, -TABLE]), torch.stack([X, -X])
    with surrogate.override("torch", {"argmax": "softmax(temperature=0.5)"}):
        for name, use in LOOKED_UP.items():

            def f(x, table, use=use):
                return use(x.argmax(-1), table, x.detach())

            leaf = xs.clone().requires_grad_()
            y = torch.func.vmap(f)(leaf, tables)
            found = torch.autograd.grad((y * weights(y)).sum(), leaf)[0]
            for k in range(2):
                one = xs[k].clone().requires_grad_()
                alone = torch.autograd.grad((f(one, tables[k]) * weights(y)[k]).sum(), one)[0]
                torch.testing.assert_close(found[k], alone, rtol=1e-12, atol=1e-12, msg=name)
                assert alone.abs().sum() > 0


def test_a_mapped_cast_to_an_integer_in_a_gradient():
    x = X.clone().requires_grad_()
    with surrogate.override("torch", {"astype": "identity"}):
        y = torch.func.vmap(lambda x: (-(3 * x).long()).double())(x)
        assert torch.equal(torch.autograd.grad(y.sum(), x)[0], torch.full_like(X, -3.0))


def test_what_pad_fills_in_comes_from_nowhere():
    x = X[0].clone().requires_grad_()
    with surrogate.override("torch", {"greater": "identity"}):
        y = torch.nn.functional.pad(x > 0, (1, 1), value=True).double()
        assert torch.equal(y, torch.nn.functional.pad(X[0] > 0, (1, 1), value=True).double())
        assert torch.equal(torch.autograd.grad(y.sum(), x)[0], torch.ones(4, dtype=torch.float64))


def test_second_derivatives_of_a_choice_are_the_same_in_both_orders():
    given = [X[0], X[1], X[2]]
    with surrogate.override("torch", {"greater": "arctan"}):
        x, u, v = (one.clone().requires_grad_() for one in given)
        by_x, by_u = torch.autograd.grad(torch.where(x > 0, u, v).sum(), (x, u), create_graph=True)
        first = torch.autograd.grad(by_x.sum(), u)[0]
        then = torch.autograd.grad(by_u.sum(), x)[0]
    slope = reference.vjp("heaviside", "arctan", X[0].numpy(), 0.0)[0]
    torch.testing.assert_close(first, torch.from_numpy(slope), rtol=1e-12, atol=0)
    torch.testing.assert_close(then, torch.from_numpy(slope), rtol=1e-12, atol=0)


def test_an_infinite_upstream_gradient_of_a_choice_stays_out_of_the_other_side():
    x, u, v = (one.clone().requires_grad_() for one in (X[0], X[1], X[2]))
    g = torch.tensor([torch.inf, 1.0, torch.inf, 1.0], dtype=torch.float64)
    with surrogate.override("torch", {"greater": "arctan"}):
        by_u, by_v = torch.autograd.grad(torch.where(x > 0, u, v), (u, v), g)
    assert torch.equal(by_u, torch.where(X[0] > 0, g, 0.0))
    assert torch.equal(by_v, torch.where(X[0] > 0, 0.0, g))


def test_a_compiled_comparison_in_forward_mode_and_nothing_stays_on_the_autograd_key(fresh_compiler):
    from surrogate_torch import _origins

    def f(x):
        return (x > 0).double() * 2

    with surrogate.override("torch", {"greater": "arctan"}):
        compiled = torch.compile(f, backend="aot_eager", fullgraph=True)
        compiled(X.clone().requires_grad_()).sum().backward()
        (put_in,) = _origins.on_attribute
        assert put_in.__self__._attributes is None  # what a compiler needed is gone
        with forward_ad.dual_level():
            found = forward_ad.unpack_dual(compiled(forward_ad.make_dual(X, torch.ones_like(X)))).tangent
        expected = torch.func.jvp(f, (X,), (torch.ones_like(X),))[1]
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)
        assert put_in.__self__._attributes is not None
    assert put_in.__self__._attributes is None
