"""use and override: what is in force where, any order of undoing, hits, the warning."""

import itertools
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

import surrogate
from surrogate import ProcessOverride, ScopedOverride

pytestmark = pytest.mark.filterwarnings("ignore::surrogate.NothingCapturedWarning")


def use(toy, **rules):
    return surrogate.use(toy, rules)


def override(toy, **rules):
    return surrogate.override(toy, rules)


def test_use_is_in_force_from_here_on_until_undone(toy):
    handle = use(toy, sign="hardtanh")
    assert toy.here == {"sign": "hardtanh(width=1.0)"}
    handle.undo()
    assert toy.here == {}
    handle.undo()
    assert toy.here == {}


def test_use_as_a_context_manager_is_undone_at_the_end_of_the_block(toy):
    with use(toy, sign="hardtanh") as handle:
        assert isinstance(handle, ProcessOverride)
        assert toy.here == {"sign": "hardtanh(width=1.0)"}
    assert toy.here == {}
    with pytest.raises(surrogate.ScopeError, match="was undone"), handle:
        pass


def test_use_as_a_decorator_is_refused_and_leaves_nothing_behind(toy):
    with pytest.raises(surrogate.SpecError, match=r"Decorate with surrogate\.override"):

        @use(toy, sign="hardtanh")
        def step():
            pass

    assert toy.here == {}


def test_override_is_inert_until_entered(toy):
    scope = override(toy, sign="identity")
    assert isinstance(scope, ScopedOverride)
    assert toy.here == {}
    with scope:
        assert toy.here == {"sign": "identity"}
    assert toy.here == {}


def test_inner_wins_op_by_op(toy):
    with override(toy, sign="identity", round="identity"), override(toy, sign="zero"):
        assert toy.here == {"sign": "zero", "round": "identity"}


def test_native_cuts_a_hole(toy):
    with override(toy, sign="identity", round="identity"):
        with override(toy, sign="native"):
            assert toy.here == {"round": "identity"}
            with override(toy, sign="zero"):
                assert toy.here["sign"] == "zero"
        assert toy.here["sign"] == "identity"


def test_override_lies_over_use_even_when_use_comes_later(toy):
    with override(toy, sign="identity"):
        handle = use(toy, sign="zero", round="identity")
        assert toy.here == {"sign": "identity", "round": "identity"}
    assert toy.here == {"sign": "zero", "round": "identity"}
    handle.undo()


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_handles_undo_in_any_order(toy, order):
    rules = [
        {"sign": "identity"},
        {"sign": "zero", "round": "zero"},
        {"sign": "native"},
        {"round": "identity"},
    ]
    handles = {i: surrogate.use(toy, r) for i, r in enumerate(rules)}
    for gone in order:
        handles.pop(gone).undo()
        expected = {}
        for i in sorted(handles):
            expected.update(rules[i])
        assert toy.here == {op: spec for op, spec in expected.items() if spec != "native"}


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_blocks_may_be_left_in_any_order(toy, order):
    rules = [{"sign": "identity"}, {"sign": "zero", "round": "zero"}, {"round": "identity"}]
    scopes = {i: surrogate.override(toy, r) for i, r in enumerate(rules)}
    for scope in scopes.values():
        scope.__enter__()
    for gone in order:
        scopes.pop(gone).__exit__(None, None, None)
        expected = {}
        for i in sorted(scopes):
            expected.update(rules[i])
        assert toy.here == expected


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_any_exception_restores(toy, error):
    with pytest.raises(error), override(toy, sign="identity"):
        raise error
    assert toy.here == {}
    with pytest.raises(error), use(toy, sign="identity"):
        raise error
    assert toy.here == {}


def test_one_object_may_be_entered_again_and_again(toy):
    scope = override(toy, sign="identity")
    for _ in range(2):
        with scope, scope:
            assert toy.here == {"sign": "identity"}
        assert toy.here == {}


def test_leaving_what_was_not_entered_is_an_error(toy):
    with pytest.raises(surrogate.ScopeError, match="not entered"):
        override(toy, sign="identity").__exit__(None, None, None)


def test_rules_are_the_gradients_it_puts_in_force(toy):
    scope = override(toy, sign="hardtanh(width=2)", round="native")
    assert scope.rules == {"sign": surrogate.gradient("sign", "hardtanh(width=2)")}
    with pytest.raises(TypeError):
        scope.rules["sign"] = None


def test_without_rules_the_defaults_are_installed(toy):
    with surrogate.use(toy) as handle:
        assert handle.rules == surrogate.defaults(toy)
        assert toy.here == {"sign": "hardtanh(width=1.0)", "round": "identity", "floor": "identity"}


def test_active_is_what_is_in_force_here(toy):
    with override(toy, sign="identity"):
        assert surrogate.active(toy) == {"sign": surrogate.gradient("sign", "identity")}
    assert surrogate.active(toy) == {}


def test_equal_rules_are_one_object(toy):
    with override(toy, sign="hardtanh", round="identity"):
        first = surrogate.active(toy)
    with override(toy, round="identity"), override(toy, sign="hardtanh(width=1)"):
        assert surrogate.active(toy) is first
    assert surrogate.active(toy).digest == ""
    assert len(first.digest) == 32


def test_the_backend_hears_of_every_change(toy):
    handle = use(toy, sign="identity")
    with override(toy, round="zero"):
        pass
    handle.undo()
    assert toy.applied == [
        ({"sign": "identity"}, "process"),
        ({"sign": "identity", "round": "zero"}, "context"),
        (None, "context"),
        ({}, "process"),
    ]


class TestNothingIsInstalledByBadInput:
    BAD = (
        (surrogate.UnknownOpError, {"sgin": "identity"}),
        (surrogate.UnknownGradientError, {"sign": "hardtan"}),
        (surrogate.UnknownParameterError, {"sign": "hardtanh(widht=2)"}),
        (surrogate.ParameterError, {"sign": "hardtanh(width=-1)"}),
        (surrogate.SpecError, {"sign": "hardtanh("}),
        (surrogate.SpecError, {"sign": 3}),
        (surrogate.SpecError, {"sign": None}),
        (surrogate.SpecError, ["sign"]),
        (surrogate.SpecError, "sign=identity"),
        (surrogate.UnsupportedOpError, {"ceil": "identity"}),
        (surrogate.FormulaError, {"sign": lambda x: x}),
    )

    @pytest.mark.parametrize("verb", [surrogate.use, surrogate.override])
    @pytest.mark.parametrize(("error", "rules"), BAD)
    def test_it_raises_our_own_error_early(self, toy, verb, error, rules):
        good = {"round": "identity", **rules} if isinstance(rules, dict) else rules
        with pytest.raises(error):
            verb(toy, good)
        assert toy.here == {}
        assert toy.applied == []
        with override(toy, sign="identity"):
            assert toy.here == {"sign": "identity"}

    def test_an_unsupported_op_says_why(self, toy):
        toy.unsupported = {"ceil": "the toy has no ceiling"}
        with pytest.raises(surrogate.UnsupportedOpError, match="the toy has no ceiling"):
            override(toy, ceil="identity")

    def test_unknown_names_get_suggestions(self, toy):
        with pytest.raises(surrogate.UnknownOpError, match="did you mean 'sign'"):
            use(toy, sgin="identity")
        with pytest.raises(surrogate.UnknownGradientError, match="did you mean 'hardtanh'"):
            use(toy, sign="hard_tanh")

    @pytest.mark.parametrize("enter", [use, lambda toy, **r: override(toy, **r).__enter__()])
    def test_a_backend_that_cannot_obey_leaves_nothing_behind(self, toy, enter):
        toy.fail = True
        with pytest.raises(surrogate.IncompatibleFrameworkError):
            enter(toy, sign="identity")
        toy.fail = False
        assert toy.here == {}
        with override(toy, round="identity"):
            assert toy.here == {"round": "identity"}


class TestHits:
    def test_each_capture_counts_for_the_override_that_supplied_the_rule(self, toy):
        with override(toy, sign="identity", round="identity") as outer:
            toy.hit("sign")
            with override(toy, sign="zero") as inner:
                toy.hit("sign")
                toy.hit("sign")
                toy.hit("round")
        assert outer.hits == {"sign": 1, "round": 1}
        assert inner.hits == {"sign": 2}

    def test_ops_that_were_not_captured_are_counted_as_zero(self, toy):
        with override(toy, sign="identity", floor="identity") as scope:
            toy.hit("sign")
        assert dict(scope.hits) == {"sign": 1, "floor": 0}

    def test_hits_are_a_snapshot(self, toy):
        with override(toy, sign="identity") as scope:
            before = scope.hits
            toy.hit("sign")
            assert before["sign"] == 0


@pytest.mark.filterwarnings("error")
class TestNothingCaptured:
    def test_a_block_that_captured_nothing_warns_naming_the_ops_and_the_line(self, toy):
        with pytest.warns(surrogate.NothingCapturedWarning, match="floor, round") as caught:
            with override(toy, round="identity", floor="identity"):
                pass
        assert caught[0].filename == __file__

    def test_undoing_a_use_that_captured_nothing_warns_at_the_callers_line(self, toy):
        handle = use(toy, round="identity")
        with pytest.warns(surrogate.NothingCapturedWarning, match="round") as caught:
            handle.undo()
        assert caught[0].filename == __file__

    def test_one_capture_is_enough(self, toy):
        with override(toy, sign="identity", floor="identity"):
            toy.hit("sign")

    def test_each_block_of_one_object_is_judged_by_itself(self, toy):
        scope = override(toy, sign="identity")
        with scope:
            toy.hit("sign")
        with pytest.warns(surrogate.NothingCapturedWarning, match="sign"):
            with scope:
                pass
        with scope, scope:
            toy.hit("sign")

    def test_an_exception_is_not_followed_by_a_warning(self, toy):
        with pytest.raises(ValueError, match="real"), override(toy, sign="identity"):
            raise ValueError("the real trouble")

    def test_a_hole_alone_captures_nothing_and_need_not(self, toy):
        with override(toy, sign="native"):
            pass

    def test_what_is_remembered_of_captured_gradients_has_an_end(self, toy):
        for width in range(1, 6000):
            with override(toy, sign=f"hardtanh(width={width})"):
                toy.hit("sign")
        assert len(toy.store.seen) <= 4096

    def test_compiled_code_that_carries_the_rule_runs_without_us(self, toy):
        toy.transforms = frozenset({"compile"})
        with override(toy, sign="identity"):
            toy.hit("sign")
        with override(toy, sign="identity"):
            pass  # a cached call: nothing is traced again
        with pytest.warns(surrogate.NothingCapturedWarning):
            with override(toy, sign="zero"):
                pass

    def test_what_no_compiler_keeps_is_no_excuse_later(self, toy):
        toy.transforms = frozenset({"compile"})
        with override(toy, sign="identity") as o:
            toy.state().captured("sign", kept=False)
        assert o.hits == {"sign": 1}
        with pytest.warns(surrogate.NothingCapturedWarning):
            with override(toy, sign="identity"):
                pass


class TestDecorator:
    def test_every_call_runs_inside(self, toy):
        @override(toy, sign="identity")
        def loss(w, *, scale=1):
            """The docstring."""
            return toy.here, w * scale

        assert loss(2, scale=3) == ({"sign": "identity"}, 6)
        assert loss.__doc__ == "The docstring."
        assert toy.here == {}

    def test_recursion_and_exceptions(self, toy):
        @override(toy, sign="identity")
        def descend(n):
            if n == 0:
                raise ValueError("bottom")
            return descend(n - 1)

        with pytest.raises(ValueError, match="bottom"):
            descend(5)
        assert toy.here == {}

    def test_hits_add_up_over_calls(self, toy):
        scope = override(toy, sign="identity")

        @scope
        def step():
            toy.hit("sign")

        step()
        step()
        assert scope.hits == {"sign": 2}

    def test_what_cannot_be_called_is_refused(self, toy):
        with pytest.raises(surrogate.SpecError, match="decorates a function"):
            override(toy, sign="identity")(3)


class TestExactly:
    """What backends use for a rule's own body, and for a recomputation."""

    def test_none_hides_everything_and_restores(self, toy):
        handle = use(toy, round="identity")
        with override(toy, sign="identity"):
            with toy.exactly(None):
                assert toy.here == {}
                with override(toy, sign="zero"):
                    assert toy.here == {"sign": "zero"}
                assert toy.here == {}
            assert toy.here == {"sign": "identity", "round": "identity"}
        handle.undo()

    def test_a_state_is_entered_again_after_its_block(self, toy):
        with override(toy, sign="identity") as scope:
            state = toy.state()
        with override(toy, sign="zero"), toy.exactly(state):
            assert toy.here == {"sign": "identity"}
            toy.hit("sign")
        assert scope.hits == {"sign": 1}

    def test_exceptions_restore(self, toy):
        with override(toy, sign="identity"):
            with pytest.raises(ValueError, match="x"), toy.exactly(None):
                raise ValueError("x")
            assert toy.here == {"sign": "identity"}


def test_no_warning_is_lost_or_doubled(toy):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with surrogate.use(toy, {"sign": "identity"}) as handle:
            pass
        handle.undo()
    assert [w.category for w in caught] == [surrogate.NothingCapturedWarning]


def test_equal_rules_made_in_many_threads_at_once_are_one_object():
    gradient = surrogate.gradient("sign", "hardtanh(width=0.123)")
    barrier = threading.Barrier(8)

    def make(_):
        barrier.wait()
        return surrogate.RuleSet({"sign": gradient})

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            for _ in range(50):
                assert len({id(found) for found in list(pool.map(make, range(8)))}) == 1
    finally:
        sys.setswitchinterval(before)
