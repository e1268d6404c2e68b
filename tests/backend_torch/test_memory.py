"""What is kept for the backward, to the byte, and that nothing is kept longer."""

import gc
import weakref

import pytest
import torch

import surrogate

N = 1000
BYTES = [
    ("sign", "hardtanh", N),
    ("sign", "identity", 0),
    ("sign", "zero", 0),
    ("sign", "arctan", 4 * N),
    ("round", "identity", 0),
    ("round", "clipped(lo=-1.0, hi=1.0)", N),
    ("clip", "closed", N),
    ("relu", "leaky", N),
    ("relu6", "identity", 0),
]
CALLS = {
    "sign": torch.sign,
    "round": torch.round,
    "clip": lambda x: x.clamp(-1, 1),
    "relu": torch.relu,
    "relu6": torch.nn.functional.relu6,
}


def saved(function):
    sizes = {}

    def pack(x):
        sizes[x.data_ptr()] = x.numel() * x.element_size()
        return x

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        function()
    return sum(sizes.values())


@pytest.mark.parametrize(("op", "spec", "expected"), BYTES)
def test_bytes(op, spec, expected):
    x = torch.randn(N, requires_grad=True)
    with surrogate.override("torch", {op: spec}):
        assert saved(lambda: CALLS[op](x)) == expected
        assert surrogate.load_backend("torch").driver().residuals(CALLS[op], [x.detach()]) == expected


def test_only_what_the_wanted_cotangent_needs():
    x, y = torch.randn(N, requires_grad=True), torch.randn(N, requires_grad=True)
    with surrogate.override("torch", {"mod": "exact"}):
        assert saved(lambda: x % 0.7) == 0
        assert saved(lambda: x % y.detach()) == 0
        assert saved(lambda: x.detach() % y) == saved(lambda: x % y) == 8 * N


def test_the_input_itself_is_kept_and_no_copy():
    x, kept = torch.randn(N, requires_grad=True), []
    with (
        surrogate.override("torch", {"sign": "arctan"}),
        torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.data_ptr()) or t, lambda t: t),
    ):
        torch.sign(x)
    assert kept == [x.data_ptr()]


def test_the_graph_dies_with_its_output():
    x = torch.randn(N, requires_grad=True)
    with surrogate.override("torch", {"sign": "arctan", "mod": "exact"}):
        y = torch.sign(x) % x
        y.sum().backward()
    node = weakref.ref(y.grad_fn)
    middle = weakref.ref(y)
    del y
    gc.collect()
    assert node() is None
    assert middle() is None


def test_many_overrides_do_not_add_up():
    x = torch.randn(4, requires_grad=True)

    def step():
        with surrogate.override("torch", {"sign": "hardtanh", "round": "identity"}):
            (torch.sign(x) + torch.round(x)).sum().backward()

    for _ in range(50):
        step()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(300):
        step()
    gc.collect()
    assert len(gc.get_objects()) - before < 50
