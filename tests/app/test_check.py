"""surrogate check: the conformance kit from the command line."""

import json

import pytest

import surrogate


def test_a_sound_backend_ends_with_status_0_and_its_counts(run):
    result = run("check", "autograd", "--op", "floor", "--promise", "vjp")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("autograd (autograd ")
    assert "passed" in result.stdout


def test_json_is_the_report(run):
    result = run("check", "autograd", "--op", "floor", "--promise", "vjp", "--json")
    report = json.loads(result.stdout)
    assert report["ok"] is True
    assert report["counts"]["passed"] > 0
    assert set(report["matrix"]) == {"floor"}


def test_a_device_that_is_not_there_is_told_before_anything_runs(run):
    result = run("check", "autograd", "--op", "floor", "--device", "cuda")
    assert result.exit_code == 2
    assert "'autograd' has no device 'cuda' to choose" in result.stderr


@pytest.fixture
def lying(monkeypatch, toy_backend):
    """A backend whose cotangents are all one and a half times too large."""
    toy = surrogate.load_backend(toy_backend)
    driver = toy.driver()
    grad = driver.grad

    def wrong(f, inputs, g):
        value, cotangents = grad(f, inputs, g)
        return value, tuple(1.5 * c for c in cotangents)

    monkeypatch.setattr(driver, "grad", wrong)
    monkeypatch.setattr(toy, "driver", lambda: driver)
    return toy_backend


def test_a_broken_promise_ends_with_status_1_and_its_numbers(run, lying):
    result = run("check", lying, "--op", "floor", "--promise", "vjp")
    assert result.exit_code == 1
    assert "failed: vjp[floor:identity" in result.stdout
    assert "more lines: --all prints them." in result.stdout


def test_all_failures_are_printed_on_request(run, lying):
    result = run("check", lying, "--op", "floor", "--promise", "vjp", "--all")
    assert result.exit_code == 1
    assert "--all prints them" not in result.stdout


def test_a_promise_of_which_the_backend_claims_nothing_is_not_passed(run):
    result = run("check", "autograd", "--promise", "compiled")
    assert result.exit_code == 1
    assert result.stdout.startswith("autograd (autograd ")
    assert "nothing checked" in result.stdout
    assert "not claimed: compile" in result.stdout


def test_an_op_that_the_backend_refuses_is_told_with_its_reason(run):
    result = run("check", "autograd", "--op", "relu")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "nothing to check: 'autograd' refuses 'relu': autograd has no such function" in result.stderr


def test_a_failure_states_how_far_numbers_may_be_off(run, lying):
    output = run("check", lying, "--op", "floor", "--promise", "vjp").stdout
    assert "the derivative of floor:identity for x is wrong: it must equal the reference's exactly" in output
