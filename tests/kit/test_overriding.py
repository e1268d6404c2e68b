"""A check may not be changed: only named as expected to fail, with a reason, strictly."""

import pytest
from toy.backend import Toy

from surrogate.testing import Conformance, ConformanceWarning, check_backend
from surrogate.testing._conformance import expected


class WrongRound(Toy):
    """The straight-through gradient of round is doubled."""

    def vjp(self, rule, saved, g, needs):
        found = super().vjp(rule, saved, g, needs)
        return [c + c for c in found] if rule.id == "round:identity" else found


def test_overriding_a_check_is_refused():
    with pytest.raises(TypeError, match="overrides test_vjp of"):

        class Cheat(Conformance):
            backend = Toy()

            def test_vjp(self):
                pass


def test_overriding_a_check_by_a_mixin_is_refused():
    class Mixin:
        test_second = None

    with pytest.raises(TypeError, match="overrides test_second"):

        class Cheat(Mixin, Conformance):
            backend = Toy()


def test_overriding_the_generation_of_checks_is_refused():
    with pytest.raises(TypeError, match="overrides pytest_generate_tests"):

        class Cheat(Conformance):
            backend = Toy()

            def pytest_generate_tests(self, metafunc):
                pass


def test_further_tests_may_be_added():
    class More(Conformance):
        backend = Toy()

        def test_of_their_own(self):
            pass

    assert More.test_vjp is Conformance.test_vjp


def test_expected_failure_is_reported_with_its_reason():
    report = check_backend(
        WrongRound(),
        ops=["round"],
        promises=["vjp"],
        expected_failures={"vjp[round:identity-*]": "doubled on purpose"},
    )
    failures = [one for one in report.results if one.outcome == "expected failure"]
    assert report.ok
    assert {one.reason for one in failures} == {"doubled on purpose"}
    assert failures[0].numbers[0] == {"x": "-10000", "g": "1", "got": "2", "expected": "1"}


class Knowing(WrongRound):
    expected_failures = {"vjp[round:identity-*]": "doubled on purpose"}  # noqa: RUF012


def test_an_expected_failure_that_the_backend_declares_is_one_everywhere():
    class TestKnowing(Conformance):
        backend = Knowing()
        expected_failures = {"vjp[round:zero-float32-eager]": "and another"}  # noqa: RUF012

    report = check_backend(Knowing(), ops=["round"], promises=["vjp"])
    known = {one.id: one.reason for one in report.results if one.outcome == "expected failure"}
    assert known
    assert report.ok
    assert f"\n  expected failure: doubled on purpose ({len(known)})" in str(report)
    assert expected(TestKnowing) == known | {"vjp[round:zero-float32-eager]": "and another"}


def test_expected_failure_that_does_not_fail_is_a_failure():
    report = check_backend(
        Toy(), ops=["sign"], promises=["vjp"], expected_failures={"vjp[sign:hardtanh-float32-eager]": "why"}
    )
    assert [(one.id, one.outcome) for one in report.failures] == [
        ("vjp[sign:hardtanh-float32-eager]", "unexpected pass")
    ]


def test_expected_failure_that_names_no_check_warns():
    with pytest.warns(ConformanceWarning, match=r"'vjp\[sgin:\*\]' names no check"):
        check_backend(Toy(), ops=[], promises=["contract"], expected_failures={"vjp[sgin:*]": "why"})


@pytest.mark.parametrize("reason", ["", "  ", None])
def test_expected_failure_without_a_reason_is_refused(reason):
    with pytest.raises(TypeError, match="needs a reason"):
        check_backend(Toy(), ops=[], promises=["contract"], expected_failures={"vjp[sign:*]": reason})


def test_brackets_in_a_glob_are_no_set_of_characters():
    with pytest.warns(ConformanceWarning, match="names no check"):
        check_backend(Toy(), ops=[], promises=["contract"], expected_failures={"vjp[s]*": "why"})
