"""``with surrogate.override(...)`` inside compiled functions, in one graph."""

import subprocess
import sys

import pytest
import torch

import surrogate

WIDE = surrogate.override("torch", {"sign": "hardtanh(width=3)"})


@surrogate.override("torch", {"sign": "identity"})
def decorated(x):
    return x.sign()


class Module(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = surrogate.override("torch", {"sign": "hardtanh"})

    def forward(self, x):
        with self.inner:
            return x.sign()


def in_one_block(x):
    with WIDE:
        return x.sign() + 10 * x.round()


def nested(x):
    with surrogate.override("torch", {"sign": "identity"}):
        a = x.sign()
        with surrogate.override("torch", {"sign": "native"}):
            b = x.sign()
        c = x.sign()
    return a + 10 * b + 100 * c + 1000 * x.sign()


def by_decorator(x):
    return decorated(x) + 10 * x.sign()


def on_the_same_value(x):
    y = x.sign()
    with WIDE:
        z = x.sign()
    return y + 10 * z + 100 * x.sign()


PROGRAMS = {
    "block": (in_one_block, [1.0, 1.0, 0.0]),
    "nested": (nested, [101.0, 101.0, 101.0]),
    "decorator": (by_decorator, [1.0, 1.0, 1.0]),
    "submodule": (torch.nn.Sequential(Module(), torch.nn.Identity()), [1.0, 0.0, 0.0]),
    "same value": (on_the_same_value, [10.0, 10.0, 0.0]),
}


def slope(f):
    x = torch.tensor([0.5, 2.0, 4.0], requires_grad=True)
    return torch.autograd.grad(f(x).sum(), x)[0].tolist()


class Counting:
    """A compiler that counts its graphs."""

    def __init__(self):
        self.graphs = 0

    def __call__(self, graph, inputs):
        self.graphs += 1
        from torch._dynamo.backends.debugging import aot_eager

        return aot_eager(graph, inputs)


@pytest.mark.usefixtures("fresh_compiler")
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("compiler", ["eager", "aot_eager", "inductor"])
def test_the_same_numbers_in_a_full_graph(name, compiler):
    function, expected = PROGRAMS[name]
    compiled = torch.compile(function, fullgraph=True, backend=compiler)
    assert slope(function) == expected
    assert slope(compiled) == expected
    assert slope(compiled) == expected
    assert surrogate.in_force() == []


@pytest.mark.usefixtures("fresh_compiler")
def test_it_is_one_graph_and_compiled_once():
    counting = Counting()
    compiled = torch.compile(nested, backend=counting)
    for _ in range(3):
        slope(compiled)
    assert counting.graphs == 1


@pytest.mark.usefixtures("fresh_compiler")
@pytest.mark.filterwarnings("ignore::surrogate.NothingCapturedWarning")  # where the inner one wins
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_in_force_around_the_compiled_function_still_counts(name):
    function, _ = PROGRAMS[name]
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    for outer in ("identity", "native", "identity", "hardtanh(width=1.5)"):
        with surrogate.use(
            "torch", {"sign": outer, "round": outer.replace("hardtanh(width=1.5)", "identity")}
        ) as handle:
            assert slope(compiled) == slope(function)
            assert len(handle.rules) in (0, 2)


@pytest.mark.usefixtures("fresh_compiler")
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")  # the compiler looks at it
def test_a_break_in_the_graph_inside_the_block():
    def broken(x):
        with WIDE:
            a = x.sign()
            torch._dynamo.graph_break()
            b = x.sign()
        return a + 10 * b + 100 * x.sign()

    compiled = torch.compile(broken, backend="aot_eager")
    assert slope(compiled) == slope(broken) == slope(compiled) == [11.0, 11.0, 0.0]
    assert surrogate.in_force() == []


@pytest.mark.usefixtures("fresh_compiler")
def test_what_fails_while_it_is_traced_leaves_nothing_in_force():
    def fails(x):
        with WIDE:
            y = x.sign()
            print(y.storage().nbytes())
        return y

    compiled = torch.compile(fails, fullgraph=True, backend="aot_eager")
    with pytest.raises(Exception):  # noqa: B017, PT011 -- whatever the compiler says
        slope(compiled)
    assert surrogate.in_force() == []
    assert slope(lambda x: x.sign()) == [0.0] * 3


@pytest.mark.usefixtures("fresh_compiler")
def test_a_mistake_in_the_rules_is_told():
    def wrong(x):
        with surrogate.override("torch", {"sgin": "identity"}):
            return x.sign()

    with pytest.raises(Exception, match="unknown op 'sgin': did you mean 'sign'"):
        slope(torch.compile(wrong, fullgraph=True, backend="aot_eager"))


@pytest.mark.usefixtures("fresh_compiler")
def test_another_override_in_its_place_is_seen_and_an_equal_one_compiles_nothing():
    module, counting = Module(), Counting()
    compiled = torch.compile(module, fullgraph=True, backend=counting)
    assert slope(compiled) == [1.0, 0.0, 0.0]
    module.inner = surrogate.override("torch", {"sign": "hardtanh"})
    assert slope(compiled) == [1.0, 0.0, 0.0]
    assert counting.graphs == 1
    module.inner = surrogate.override("torch", {"sign": "identity"})
    assert slope(compiled) == [1.0, 1.0, 1.0]


@pytest.mark.usefixtures("fresh_compiler")
def test_made_inside_of_gradients_that_are_objects():
    per_element = surrogate.gradient("sign", "hardtanh", width=[1.0, 3.0, 1.0])

    def function(x):
        with surrogate.override("torch", {"sign": per_element}):
            return x.sign()

    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    assert slope(compiled) == [1.0, 1.0, 0.0]
    per_element = surrogate.gradient("sign", "identity")
    assert slope(compiled) == [1.0, 1.0, 1.0]


FIRST = """
import torch
import surrogate

inner = surrogate.override("torch", {"sign": "identity"})

def function(x):
    with inner:
        return x.sign()

x = torch.ones(2, requires_grad=True)
compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
native = torch.compile(torch.sign, backend="aot_eager")
assert torch.autograd.grad(native(x).sum(), x)[0].tolist() == [0.0, 0.0]
assert torch.autograd.grad(compiled(x).sum(), x)[0].tolist() == [1.0, 1.0]
with surrogate.override("torch", {"sign": "identity"}):
    assert torch.autograd.grad(native(x).sum(), x)[0].tolist() == [1.0, 1.0]
"""


def test_the_first_override_of_a_process_may_be_entered_inside():
    subprocess.run([sys.executable, "-c", FIRST], check=True, timeout=120)
