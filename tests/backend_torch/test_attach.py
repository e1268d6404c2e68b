"""Rules per module: inside its forward only, eager and compiled, copied and pickled with it."""

import copy
import itertools
import pickle

import pytest
import surrogate_torch
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import surrogate


class Act(nn.Module):
    def forward(self, x):
        return torch.sign(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = Act(), Act()
        self.enc = nn.Sequential(nn.Identity(), Act())

    def forward(self, x):
        return self.a(x).sum() + 10 * self.b(x).sum() + 100 * self.enc(x).sum() + 1000 * x.sign().sum()


RULES = {"a": {"sign": "identity"}, "enc.*": {"sign": "hardtanh"}}


def slopes(f):
    x = torch.tensor([0.5, 2.0], requires_grad=True)
    f(x).backward()
    return x.grad.tolist()


@pytest.fixture
def net():
    net = Net()
    net.handle = surrogate_torch.attach(net, RULES)
    return net


def test_in_force_inside_the_modules_only(net):
    assert slopes(net) == [101.0, 1.0]
    assert net.state_dict() == {}
    with surrogate.override("torch", {"sign": "identity"}):
        assert slopes(net) == [1111.0, 1011.0]


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["copy", "pickle"]
)
def test_a_copy_has_them_too(net, copied):
    del net.handle
    assert slopes(copied(net)) == [101.0, 1.0]


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_compiled_as_a_full_graph_and_never_stale(net, backend):
    torch.compiler.reset()
    compiled = torch.compile(net, fullgraph=True, backend=backend)
    assert slopes(compiled) == [101.0, 1.0]
    with surrogate.override("torch", {"sign": "identity"}):
        assert slopes(compiled) == [1111.0, 1011.0]
    net.handle.undo()
    assert slopes(compiled) == [0.0, 0.0]


@pytest.mark.parametrize("reentrant", [False, True])
def test_in_a_checkpoint(net, reentrant):
    assert slopes(lambda x: checkpoint(net, x, use_reentrant=reentrant)) == [101.0, 1.0]


def test_later_ones_win_and_any_order_of_undoing_is_right():
    net = Net()
    first, second = (surrogate_torch.attach(net, {"sign": spec}) for spec in ("identity", "hardtanh"))
    assert slopes(net) == [1111.0, 0.0]
    first.undo()
    assert slopes(net) == [1111.0, 0.0]
    second.undo()
    assert slopes(net) == [0.0, 0.0]
    assert "forward" not in vars(net)


@pytest.mark.parametrize(
    ("rules", "error", "message"),
    [
        ({"encc.*": {"sign": "identity"}}, surrogate.UnknownNameError, "unknown module 'encc"),
        ({"a": {"sgn": "identity"}}, surrogate.UnknownOpError, "did you mean 'sign'"),
        ({"a": {"sign": "identity"}, "sign": "tanh"}, surrogate.SpecError, "not both in one"),
        ({}, surrogate.SpecError, "rules are a mapping"),
    ],
)
def test_what_is_wrong_is_refused_and_nothing_is_attached(rules, error, message):
    net = Net()
    with pytest.raises(error, match=message):
        surrogate_torch.attach(net, rules)
    assert slopes(net) == [0.0, 0.0]


def graphs():
    return torch._dynamo.utils.counters["stats"]["unique_graphs"]


def attach_to(net, pair):
    """Rules for two of its modules, for one or for none."""
    rules = {name: {"sign": spec} for name, spec in zip("ab", pair, strict=True) if spec}
    return surrogate_torch.attach(net, rules) if rules else None


PAIRS = {
    (None, None): [0.0, 0.0],
    ("identity", None): [1.0, 1.0],
    ("hardtanh", "identity"): [11.0, 10.0],
    ("identity", "hardtanh"): [11.0, 1.0],
}


@pytest.mark.parametrize("order", list(itertools.permutations(PAIRS)), ids=lambda order: "")
def test_one_compiled_model_under_any_rules_in_any_order(order):
    torch.compiler.reset()
    torch._dynamo.utils.counters.clear()
    net = Net()
    run = torch.compile(net, fullgraph=True, backend="aot_eager")
    for round_ in range(2):
        for number, pair in enumerate(order, start=1):
            handle = attach_to(net, pair)
            assert slopes(run) == PAIRS[pair], pair
            if handle is not None:
                handle.undo()
            assert graphs() == (len(order) if round_ else number)  # what was compiled before is found again


def test_parts_that_are_compiled_alone_share_their_code():
    torch.compiler.reset()
    net = Net()
    for module in (net.a, net.b, net.enc[1]):
        module.compile(fullgraph=True, backend="aot_eager")
    for pair in [*PAIRS, *reversed(PAIRS)]:
        handle = attach_to(net, pair)
        assert slopes(net) == PAIRS[pair], pair
        if handle is not None:
            handle.undo()


def test_what_was_undone_is_no_part_of_a_copy():
    net = Net()
    for _ in range(2):
        surrogate_torch.attach(net, {"a": {"sign": "identity"}}).undo()
    assert net.state_dict() == {}
    for copied in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert slopes(copied) == [0.0, 0.0]
        handle = surrogate_torch.attach(copied, {"a": {"sign": "identity"}})
        assert slopes(copied) == [1.0, 1.0]
        assert slopes(net) == [0.0, 0.0]
        handle.undo()


def test_the_rules_of_a_function_that_changed_are_others():
    factor = 2.0

    def scaled(xp, x):
        return factor

    net = Net()
    found = []
    for factor in (2.0, 3.0):  # noqa: B007 -- the formula reads it
        handle = surrogate_torch.attach(net, {"a": {"sign": scaled}})
        found.append(slopes(net))
        handle.undo()
    assert found == [[2.0, 2.0], [3.0, 3.0]]


def test_compiled_a_checkpoint_of_an_attached_module_is_one_graph(net):
    torch.compiler.reset()
    torch._dynamo.utils.counters.clear()
    run = torch.compile(
        lambda x: checkpoint(net, x, use_reentrant=False), fullgraph=True, backend="aot_eager"
    )
    assert slopes(run) == [101.0, 1.0]
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1
