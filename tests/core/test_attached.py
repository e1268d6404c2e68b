"""Rules on a module of a model, where a module is any object with a forward of its own."""

import copy
import pickle

import core_toy
import pytest

import surrogate
from surrogate import _plugins
from surrogate._attached import Attachment, attached
from surrogate._by_name import rules_by_name


class Module:
    """Says what is in force where its forward runs."""

    def __init__(self, backend, *inner):
        self.backend, self.inner = backend, inner

    def forward(self, *args, **kwargs):
        for one in self.inner:
            one.forward()
        for op in _plugins._loaded[self.backend].here:
            _plugins._loaded[self.backend].hit(op)
        return _plugins._loaded[self.backend].here, args, kwargs


@pytest.fixture
def backend(monkeypatch):
    """The name of a toy backend that is loaded."""
    monkeypatch.setitem(_plugins._loaded, "toy", core_toy.Toy())
    return "toy"


def put(modules, rules):
    return attached(modules, rules, method="forward", backend="toy")[1]


def test_rules_hold_inside_the_forward_and_nowhere_else(backend):
    module = Module(backend)
    chosen, [one] = attached({"": module}, {"sign": "tanh"}, method="forward", backend=backend)
    assert chosen == {"": {"sign": "tanh"}}
    assert module.forward(1, b=2) == ({"sign": "tanh(slope=1.0)"}, (1,), {"b": 2})
    assert one.native() == ({}, (), {})
    assert _plugins._loaded[backend].here == {}


def test_what_is_attached_later_lies_inside(backend):
    module = Module(backend)
    first = put({"": module}, {"sign": "tanh", "round": "identity"})[0]
    second = put({"": module}, {"sign": "arctan"})[0]
    assert module.forward()[0] == {"sign": "arctan(alpha=2.0)", "round": "identity"}
    first.take_off()
    assert set(module.forward()[0]) == {"sign"}
    second.take_off()
    assert module.forward()[0] == {}
    assert "forward" not in vars(module)


def test_the_last_may_be_taken_off_first(backend):
    module = Module(backend)
    first, second = put({"": module}, {"round": "identity"})[0], put({"": module}, {"sign": "tanh"})[0]
    second.take_off()
    assert set(module.forward()[0]) == {"round"}
    first.take_off()
    assert "forward" not in vars(module)


def test_a_forward_of_somebody_else_s_stays(backend):
    module = Module(backend)
    module.forward = lambda: ("theirs", _plugins._loaded[backend].here)
    [one] = put({"": module}, {"sign": "tanh"})
    assert module.forward() == ("theirs", {"sign": "tanh(slope=1.0)"})
    one.take_off()
    assert module.forward() == ("theirs", {})


def test_a_forward_that_somebody_puts_over_it_stays(backend):
    module = Module(backend)
    [one] = put({"": module}, {"sign": "tanh"})
    module.forward = lambda under=module.forward: ("over", under())
    one.take_off()
    assert module.forward() == ("over", ({}, (), {}))


@pytest.mark.parametrize(
    "through", [copy.copy, lambda one: pickle.loads(pickle.dumps(one))], ids=["copy", "pickle"]
)
def test_a_copy_takes_the_rules_along(backend, through):
    [one] = put({"": Module(backend)}, {"sign": "tanh"})
    other = through(one)
    assert other()[0] == {"sign": "tanh(slope=1.0)"}
    assert (other.rules, other.on) == ({"sign": "tanh"}, True)


def test_undoing_tells_which_and_twice_does_nothing(backend):
    inner = Module(backend)
    modules, told = {"": Module(backend, inner), "inner": inner}, []
    rules, every = attached(modules, {"inn*": {"sign": "tanh"}}, method="forward", backend=backend)
    handle = Attachment(rules, every, told.append)
    assert repr(handle) == "<Attachment {'inner': {'sign': 'tanh'}}>"
    assert inner.forward()[0] == {"sign": "tanh(slope=1.0)"}
    handle.undo()
    handle.undo()
    assert inner.forward()[0] == {}
    assert told == [every, []]


def test_nothing_is_put_on_where_one_rule_is_wrong(backend):
    modules = {"a": Module(backend), "b": Module(backend)}
    with pytest.raises(surrogate.UnknownGradientError):
        put(modules, {"a": {"sign": "tanh"}, "b": {"sign": "no_such"}})
    assert [vars(module).get("forward") for module in modules.values()] == [None, None]


NAMES = ("", "encoder", "encoder.0", "encoder.0.act", "head")


@pytest.mark.parametrize(
    ("rules", "found"),
    [
        ({"sign": "tanh"}, {"": {"sign": "tanh"}}),
        ({"head": {"sign": "tanh"}}, {"head": {"sign": "tanh"}}),
        (
            {"encoder.*": {"sign": "tanh"}, "encoder.0.*": {"sign": "arctan"}},
            {"encoder.0": {"sign": "tanh"}, "encoder.0.act": {"sign": "arctan"}},
        ),
    ],
)
def test_the_longest_pattern_wins(rules, found):
    assert rules_by_name(rules, NAMES) == found


@pytest.mark.parametrize(
    ("rules", "error", "message"),
    [
        ({}, surrogate.SpecError, "rules are a mapping such as"),
        ("sign=tanh", surrogate.SpecError, "rules are a mapping such as"),
        ({"sign": "tanh", "head": {"sign": "tanh"}}, surrogate.SpecError, "not both in one"),
        ({"heads": {"sign": "tanh"}}, surrogate.UnknownNameError, "did you mean 'head'"),
    ],
)
def test_what_is_no_such_mapping_is_told(rules, error, message):
    with pytest.raises(error, match=message):
        rules_by_name(rules, NAMES)
