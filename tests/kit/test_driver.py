"""The driver of a backend: its spellings are checked each, and what 0.1 had for it still works."""

import pytest
from toy.backend import Toy, ToyDriver, native

import surrogate
from surrogate.testing import check_backend, plan


class Written(ToyDriver):
    """Two ways to write each op; the second is what ``self.second`` makes of it."""

    def spellings(self, op):
        function = super().spellings(op)[op]
        return {op: function, f"{op}, otherwise": self.backend.second(op, function)}


class TwoWays(Toy):
    ops = frozenset({"sign", "clip", "mod"})

    def driver(self):
        return Written(self)

    def second(self, op, function):
        return lambda *inputs: function(*inputs)


class SecondWayNative(TwoWays):
    """The second way is not captured."""

    def second(self, op, function):
        return native(op)


class SecondWaySwapped(TwoWays):
    """The second way takes its inputs in another order."""

    def second(self, op, function):
        return lambda *inputs: function(*inputs[::-1])


class SecondWayTwice(TwoWays):
    """The second way is captured twice."""

    def second(self, op, function):
        return lambda *inputs: (function(*inputs), function(*inputs))[0]


def broken(backend):
    """The spellings that the kit finds broken, alone."""
    failed = {one.id for one in check_backend(backend, promises=["spellings"]).failures}
    return {one for one in failed if "together" not in one}


def test_every_spelling_is_checked():
    found = [check.id for check in plan(TwoWays()) if check.promise == "spellings"]
    assert len(found) == 6 + 3
    assert "spellings[clip-clip, otherwise]" in found
    assert broken(TwoWays()) == set()


@pytest.mark.parametrize("fault", [SecondWayNative, SecondWayTwice])
def test_a_spelling_that_is_not_the_op_is_found(fault):
    assert broken(fault()) == {f"spellings[{op}-{op}, otherwise]" for op in TwoWays.ops}


@pytest.mark.parametrize("mode", ["jit", "grad_of_jit", "forward"])
def test_so_it_is_among_all_of_them_in_one_function(mode):
    failed = {one.id for one in check_backend(SecondWayNative(), promises=["spellings"]).failures}
    assert f"spellings[together-{mode}]" in failed
    assert check_backend(TwoWays(), promises=["spellings"]).ok


def test_a_spelling_of_other_operands_is_found():
    assert broken(SecondWaySwapped()) == {f"spellings[{op}-{op}, otherwise]" for op in ("clip", "mod")}


def test_a_spelling_says_its_own_operands_and_attributes():
    class Own(Written):
        def spellings(self, op):
            call = ToyDriver.spellings(self, op)[op]
            return {
                op: call,
                "hi": surrogate.Spelling(lambda x, lo: call(x, lo, 1.0), {"hi": 1.0}),
                "both": surrogate.Spelling(lambda x: call(x, -1.0, 1.0), {"lo": -1.0, "hi": 1.0}),
                "wrong": surrogate.Spelling(lambda x: call(x, -1.0, 1.0), {"lo": -1.0, "hi": 0.5}),
            }

    class Clips(TwoWays):
        ops = frozenset({"clip"})

        def driver(self):
            return Own(self)

    assert broken(Clips()) == {"spellings[clip-wrong]"}


class OldWay(Toy):
    """As a backend was written for 0.1: the kit's methods on its own class."""

    ops = frozenset({"sign"})
    transforms = frozenset()
    driver = surrogate.Backend.driver

    def asarray(self, x):
        return ToyDriver(self).asarray(x)

    def numpy(self, x):
        return ToyDriver(self).numpy(x)


def test_the_way_of_0_1_still_works_and_says_what_to_do():
    with pytest.warns(DeprecationWarning, match=r"since 0.2 they belong to a surrogate\.Driver"):
        report = check_backend(OldWay(), promises=["value", "vjp", "spellings", "scope"])
    assert report.ok
    assert len(report.results) > 20


def test_a_backend_without_a_driver_says_what_is_missing():
    class Bare(surrogate.Backend):
        name = framework = "numpy"

    with pytest.raises(NotImplementedError, match=r"no method driver\(\)"):
        Bare().driver()
