"""Bad arguments: status 2, one message with the nearest name, never a traceback."""

import sys

import pytest

BAD = {
    "command": (["dmo"], "did you mean 'demo'?"),
    "op-to-list": (["list", "sgn"], "did you mean 'sign'?"),
    "op-to-show": (["show", "sing"], "did you mean 'sign'?"),
    "gradient-to-show": (["show", "sign:hardtan"], "did you mean 'hardtanh'"),
    "parameter-to-show": (["show", "sign:hardtanh(widht=2)"], "did you mean 'width'?"),
    "value-to-show": (["show", "sign:hardtanh(width=-1)"], "width must be above 0"),
    "spec-to-show": (["show", "sign:hardtanh(2)"], "parameters are given by name"),
    "gradient-without-op": (["show", "hardtanh"], "write sign:hardtanh"),
    "gradient-after-equals": (["show", "sign=hardtanh"], "write sign:hardtanh"),
    "preset-without-op": (["show", "larq:ste_sign"], "no op but a preset: write sign:larq:ste_sign"),
    "op-to-plot": (["plot", "sing"], "did you mean 'sign'?"),
    "nothing-to-plot": (["plot"], "give either an op"),
    "op-and-all-to-plot": (["plot", "sign", "--all"], "give either an op"),
    "backend-to-check": (["check", "autogrd"], "did you mean 'autograd'?"),
    "op-to-check": (["check", "autograd", "--op", "sgn"], "did you mean 'sign'?"),
    "promise-to-check": (["check", "autograd", "--promise", "vpj"], "did you mean 'vjp'"),
    "backend-for-demo": (["demo", "--backend", "autogrd"], "did you mean 'autograd'?"),
    "op-for-demo": (["demo", "--rules", "sing=tanh"], "did you mean 'sign'?"),
    "gradient-for-demo": (["demo", "--rules", "sign=tahn"], "did you mean 'tanh'"),
    "op-given-twice": (["demo", "--rules", "sign=tanh", "--rules", "sign=zero"], "'sign' is given twice"),
    "rule-without-equals": (["demo", "--rules", "sign"], "not of the form op=gradient"),
    "no-compiler": (["demo", "--compile"], "the backend 'autograd' has no compiler"),
    "no-epochs": (["demo", "--epochs", "0"], "0 is not in the range"),
    "folder-of-picture": (["demo", "--output", "no/such/folder/a.png"], "'no/such/folder' does not exist"),
    "format-of-picture": (["plot", "sign", "-o", "a.docx"], "'a.docx' must end in one of: "),
    "picture-of-show": (["show", "sign:tanh", "--png", "no/such/a.png"], "'no/such' does not exist"),
    "option": (["demo", "--epoch", "3"], "--epochs"),
}


@pytest.mark.parametrize(("args", "message"), BAD.values(), ids=BAD)
def test_a_bad_argument_ends_with_status_2_and_says_what_is_meant(run, args, message):
    result = run(*args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert message in result.stderr.replace("\n", " ")
    assert "Traceback" not in result.stderr


def test_an_error_that_no_argument_caused_ends_with_status_1(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    result = run("demo", "--json")
    assert result.exit_code == 1
    assert "Error: the demo's data needs the package 'sklearn'" in result.stderr
    assert "Traceback" not in result.stderr
