"""Variables in compiled code: a hundred values, one compilation, and each backward its forward's value."""

import numpy as np
import pytest
import torch

import surrogate
from surrogate import reference

X = np.array([[0.5, -0.25, 1.5], [1.0, 0.125, -2.0]])


def gradient(function, x, before_backward=lambda: None):
    leaf = torch.tensor(x, requires_grad=True)
    y = function(leaf)
    before_backward()
    y.backward()
    return leaf.grad.numpy()


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("name", ["tanh", "hardtanh"])
def test_a_hundred_values_are_one_compilation(name, backend):
    torch._dynamo.reset()
    k = surrogate.Variable(1.0)
    found = surrogate.gradient("sign", name, **{"tanh": {"slope": k}, "hardtanh": {"width": k}}[name])
    compiled = torch.compile(lambda x: torch.sign(x * 1.0).sum(), backend=backend, fullgraph=True)
    torch._dynamo.utils.counters.clear()
    with surrogate.override("torch", {"sign": found}):
        for value in np.linspace(0.1, 3, 100):
            k.value = value
            expected = reference.vjp("sign", found, X)[0]
            got = gradient(compiled, X, lambda: setattr(k, "value", 7.0))
            np.testing.assert_allclose(got, expected, rtol=1e-12)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


def test_one_variable_for_two_gradients_in_one_graph():
    k = surrogate.Variable(1.0)
    rules = {
        "sign": surrogate.gradient("sign", "tanh", slope=k),
        "round": surrogate.gradient("round", "soft_round", alpha=k),
    }
    compiled = torch.compile(lambda x: (torch.sign(x) + torch.round(x)).sum(), backend="aot_eager")
    for value in (1.0, 4.0):
        k.value = value
        with surrogate.override("torch", rules):
            got = gradient(compiled, X)
        expected = sum(reference.vjp(op, found, X)[0] for op, found in rules.items())
        np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_a_tensor_of_the_frameworks_is_an_array():
    slope = torch.tensor([1.0, 2.0, 3.0])
    found = surrogate.gradient("sign", "tanh", slope=slope)
    assert found is surrogate.gradient("sign", "tanh", slope=[1.0, 2.0, 3.0])


def test_a_large_tensor_is_not_cut_where_a_parameter_has_a_shape():
    x = np.linspace(-2, 2, 4 << 20).reshape(4, -1)
    found = surrogate.gradient("sign", "hardtanh", width=[[0.5], [1.0], [1.5], [2.0]])
    smooth = surrogate.gradient("sign", "tanh", slope=[[0.5], [1.0], [1.5], [2.0]])
    for one in (found, smooth):
        with surrogate.override("torch", {"sign": one}):
            got = gradient(lambda v: torch.sign(v).sum(), x)
        np.testing.assert_allclose(got, reference.vjp("sign", one, x)[0], rtol=1e-12)
