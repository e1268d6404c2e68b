"""What compiled code captured is told when it is called: per op, per function, in every block."""

import warnings

import pytest
import torch

import surrogate

RULES = {"round": "identity", "floor": "identity"}


def rounded(x):
    return torch.round(x)


def floored(x):
    return torch.floor(x)


def doubled(x):
    return 2 * x


def compiled(f):
    torch.compiler.reset()
    return torch.compile(f, backend="aot_eager")


def slope(f):
    x = torch.tensor(1.3, requires_grad=True)
    return torch.autograd.grad(f(x), x)[0].item()


def block(run):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", surrogate.NothingCapturedWarning)
        with surrogate.override("torch", RULES) as inside:
            run()
    said = [w for w in caught if w.category is surrogate.NothingCapturedWarning]
    return dict(inside.hits), bool(said)


@pytest.mark.parametrize("again", [1, 2])
def test_each_block_knows_what_its_compiled_functions_captured(again):
    rounds, floors, neither = compiled(rounded), compiled(floored), compiled(doubled)
    for _ in range(1 + again):
        assert block(lambda: slope(rounds)) == ({"round": 1, "floor": 0}, False)
        assert block(lambda: slope(neither)) == ({"round": 0, "floor": 0}, True)
        assert block(lambda: slope(floors)) == ({"round": 0, "floor": 1}, False)
        assert block(lambda: (slope(rounds), slope(floors)))[0] == {"round": 1, "floor": 1}


def test_another_gradient_is_not_told_of():
    rounds = compiled(rounded)
    assert block(lambda: slope(rounds))[1] is False
    with pytest.warns(surrogate.NothingCapturedWarning), surrogate.override("torch", {"floor": "identity"}):
        slope(rounds)
    with surrogate.override("torch", {"round": "zero"}) as other:
        assert slope(rounds) == 0.0
    assert other.hits["round"] >= 1


def test_use_is_told_too():
    rounds = compiled(rounded)
    for _ in range(2):
        with surrogate.use("torch", RULES) as handle:
            assert slope(rounds) == 1.0
        assert handle.hits["round"] == 1


def quantised(x):
    return torch.round(x).detach()


OTHERS = {
    "a whole function": ({quantised: "identity"}, lambda x: 3 * quantised(x), 3.0),
    "a native operator": ({"aten::sin": lambda call, g: 5 * g}, lambda x: torch.sin(x) * 2, 10.0),
}


@pytest.mark.parametrize("what", OTHERS)
def test_functions_and_native_operators_are_told_too(what):
    rules, f, through = OTHERS[what]
    run, neither = compiled(f), torch.compile(doubled, backend="aot_eager")
    for _ in range(3):
        with surrogate.override("torch", rules) as inside:
            assert slope(run) == through
        assert list(inside.hits.values()) == [1]
        with pytest.warns(surrogate.NothingCapturedWarning), surrogate.override("torch", rules):
            assert slope(neither) == 2.0
