"""The rule key ``compare`` stands for the four orderings."""

import pytest

import surrogate

# the toy captures nothing here, and what is in force is the subject
pytestmark = pytest.mark.filterwarnings("ignore::surrogate.NothingCapturedWarning")

ORDERINGS = ("greater", "greater_equal", "less", "less_equal")


@pytest.fixture
def backend(toy):
    toy.ops = frozenset(ORDERINGS)
    return toy


def h(xp, x):
    return 1 / (1 + xp.square(x))


def both(xp, x, y):
    return 0.0, 3.0


def test_it_expands_to_the_four(backend):
    with surrogate.override(backend, {"compare": "arctan(alpha=3)"}):
        assert backend.here == dict.fromkeys(ORDERINGS, "arctan(alpha=3.0)")


def test_an_ordering_of_its_own_wins_whatever_the_order(backend):
    for rules in ({"compare": "arctan", "less": "native"}, {"less": "native", "compare": "arctan"}):
        with surrogate.override(backend, rules):
            assert sorted(backend.here) == ["greater", "greater_equal", "less_equal"]


def test_native_cuts_a_hole_for_all_four(backend):
    with (
        surrogate.override(backend, {"compare": "arctan"}),
        surrogate.override(backend, {"compare": "native"}),
    ):
        assert backend.here == {}


@pytest.mark.parametrize("spec", ["snntorch:atan", surrogate.gradient("heaviside", "arctan"), h], ids=repr)
def test_what_it_takes(backend, spec):
    rules = surrogate.use(backend, {"compare": spec})
    signs = [surrogate.reference.vjp(op, rules.rules[op], 2.0, 1.5)[0] > 0 for op in ORDERINGS]
    rules.undo()
    assert signs == [True, True, False, False]


def test_a_function_of_both_operands_is_that_of_greater(backend):
    override = surrogate.override(backend, {"compare": both})
    found = [surrogate.reference.vjp(op, override.rules[op], 2.0, 1.5) for op in ORDERINGS]
    assert [(x.item(), y.item()) for x, y in found] == [(0, 3), (0, 3), (0, -3), (0, -3)]


def test_a_backend_without_them_refuses(toy):
    with pytest.raises(surrogate.UnsupportedOpError, match="cannot override 'greater'"):
        surrogate.override(toy, {"compare": "arctan"})


def test_it_is_in_no_defaults(backend):
    assert surrogate.defaults(backend) == {}
