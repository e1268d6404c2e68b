"""The report without pytest: ids, counts, what is not claimed, failing numbers, plain data."""

import json
import re

import numpy as np
import pytest
from toy.backend import Toy, ToyDriver

import surrogate
from surrogate.testing import BrokenPromiseError, Target, _contract, check_backend, plan
from surrogate.testing._failure import demand_all


class Modest(Toy):
    name = "modest"
    transforms = frozenset({"forward"})
    unsupported = {"relu6": "nobody asked for it"}  # noqa: RUF012
    ops = Toy.ops - {"relu6"}


class OnlyGrad(ToyDriver):
    jvp, vmap = surrogate.Driver.jvp, surrogate.Driver.vmap


class OpenEdge(Toy):
    def save(self, rule, primals, needs):
        if not rule.id.startswith("sign:hardtanh"):
            return super().save(rule, primals, needs)
        return (abs(primals[0]) < rule.interval[1],)


def test_ids_are_unique_and_readable():
    ids = [check.id for check in plan(Toy())]
    assert len(set(ids)) == len(ids)
    assert "vjp[sign:hardtanh-float32-jit]" in ids
    assert "vjp[sign:hardtanh(width=1.5)-float32-eager]" in ids


def test_every_gradient_is_checked():
    checked = {(check.op, check.gradient) for check in plan(Toy()) if check.promise == "vjp"}
    floats = {op: names for op, names in surrogate.gradients().items() if surrogate.op(op).output == "float"}
    assert {(op, name) for op, names in floats.items() for name in names} <= {
        (op, spec.partition("(")[0]) for op, spec in checked
    }


def test_what_is_not_claimed_is_reported_and_not_checked():
    report = check_backend(Modest(), ops=["sign"], promises=["vjp", "second", "residuals", "compiled"])
    assert report.not_claimed == ["vmap", "compile", "second", "residuals", "learned", "discrete"]
    assert {(one.promise, one.mode) for one in report.results} == {("vjp", "eager")}


def test_unsupported_op_is_checked_to_be_refused():
    report = check_backend(Modest(), promises=["unsupported"])
    assert [(one.id, one.outcome) for one in report.results] == [("unsupported[relu6]", "passed")]


def test_failure_shows_only_the_numbers_that_are_wrong():
    report = check_backend(OpenEdge(), ops=["sign"], promises=["vjp"])
    failure = next(one for one in report.failures if one.id == "vjp[sign:hardtanh-float32-eager]")
    assert {(row["x"], row["g"]) for row in failure.numbers} == {
        (x, g) for x in ("-1", "1") for g in ("1", "-2")
    }
    assert {row["got"].lstrip("-") for row in failure.numbers} == {"0"}


def test_what_the_framework_does_not_have_is_not_passed():
    class WithoutDecimals(Toy):
        def call(self, op, *inputs):
            return super().call(op, *inputs)

    report = check_backend(WithoutDecimals(), ops=["round"], promises=["decimals"])
    assert {one.outcome for one in report.results} == {"not applicable"}
    assert report.ok


def test_report_reads_well():
    text = str(check_backend(OpenEdge(), ops=["sign"], promises=["vjp"]))
    assert "failed: vjp[sign:hardtanh-float32-eager]: the derivative of sign:hardtanh for x is wrong" in text
    assert "x=1  g=1  got=0  expected=1" in text


def test_report_is_plain_data():
    data = check_backend(OpenEdge(), ops=["sign"], promises=["vjp"]).to_json()
    assert json.loads(json.dumps(data)) == data
    assert not data["ok"]
    assert data["counts"]["passed"] > 0
    assert {one["outcome"] for one in data["results"]} == {"failed"}
    assert data["matrix"]["sign"]["eager"]["failed"] > 0


def test_progress_is_told_before_each_check():
    seen = []
    check_backend(Toy(), promises=["contract"], progress=lambda check, n, of: seen.append((check.id, n, of)))
    names = ("declared", "errors", "hits", "hits-once-eager", "hits-once-forward", "hits-unrecorded")
    assert seen == [(f"contract[{name}]", n, 6) for n, name in enumerate(names)]


def test_unknown_backend_is_refused():
    with pytest.raises(surrogate.UnknownBackendError, match="torhc"):
        check_backend("torhc")


@pytest.mark.parametrize(
    ("chosen", "error"),
    [({"ops": ["sgin"]}, surrogate.UnknownOpError), ({"promises": ["vpj"]}, surrogate.UnknownNameError)],
    ids=["op", "promise"],
)
def test_an_unknown_name_is_refused_and_not_passed(chosen, error):
    with pytest.raises(error, match="did you mean"):
        check_backend(Toy(), **chosen)


def test_a_report_of_no_checks_is_not_ok():
    class Plain(Toy):
        transforms = frozenset()

    report = check_backend(Plain(), promises=["compiled"])
    assert report.results == []
    assert not report.ok


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"transforms": frozenset({"vmap"}), "driver": lambda self: OnlyGrad(self)}, "claims 'vmap'"),
        (
            {"transforms": frozenset({"forward"}), "driver": lambda self: OnlyGrad(self)},
            "without a method jvp() of the driver.",
        ),
        ({"dtypes": ("flaot32",)}, "the kit knows float16, bfloat16, float32, float64."),
        ({"dtypes": ()}, "dtypes is ()"),
        ({"framework": None}, "framework is not set."),
        ({"transforms": frozenset({"foward"})}, "transforms has ['foward']"),
    ],
    ids=["no-vmap", "no-jvp", "dtype", "no-dtypes", "framework", "claim"],
)
def test_a_class_that_is_not_well_formed_is_told_as_such(attributes, message):
    made = type("Odd", (Toy,), attributes)()
    with pytest.raises(BrokenPromiseError, match=re.escape(message)):
        _contract.declared(Target(made))


def test_numbers_that_one_can_reckon_by_hand_are_shown_first():
    x = np.array([-np.inf, np.nan, 0.5, 3.0])
    with pytest.raises(BrokenPromiseError) as caught:
        demand_all(np.array([False, False, True, False]), "wrong", {"x": x, "g": np.ones(4)})
    assert [row["x"] for row in caught.value.numbers] == ["3", "-inf", "nan"]
    assert (caught.value.wrong, caught.value.checked) == (3, 4)


def test_in_a_notebook_it_is_a_table_of_ops():
    report = check_backend(OpenEdge(), ops=["sign"], promises=["vjp"])
    html = report._repr_html_()
    assert "<b>not passed</b>" in html
    [row] = [line for line in html.split("<tr>") if "<code>sign</code>" in line]
    assert f">{report.counts['failed']}</td>" in row
    assert "vjp[sign:hardtanh-float32-eager]" in html
