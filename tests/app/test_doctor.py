"""surrogate doctor: every plugin, in isolation."""

import json

import pytest

BROKEN = {
    "raises": ("raise RuntimeError('out of order')", "RuntimeError: out of order"),
    "exits": ("import sys; sys.exit(3)", "loading it ends the process (3)"),
    "returns-no-backend": ("x = 1", "not a surrogate.Backend"),
    "misspells-a-hook": (
        "import surrogate\n@surrogate.hookimpl\ndef surrogate_bakcend(name): pass\n",
        "surrogate_bakcend",
    ),
}


def report(done):
    data = json.loads(done.stdout)
    return data, {(one["group"], one["name"]): one for one in data["plugins"]}


def test_status_0_when_all_that_is_installed_loads(plugins):
    done = plugins.surrogate("doctor", "--json")
    data, found = report(done)
    assert done.returncode == 0, done.stdout + done.stderr
    assert data["namesake"] is None
    autograd = found["surrogate.backends", "autograd"]
    assert (autograd["state"], autograd["framework"]) == ("loads", "autograd")
    assert "sign" in autograd["ops"]
    assert found["surrogate.backends", "torch"]["state"] == "disabled"


@pytest.mark.parametrize(("code", "reason"), BROKEN.values(), ids=BROKEN)
def test_a_broken_backend_is_named_with_its_reason_and_breaks_no_other(plugins, code, reason):
    plugins.add("some-plugin", "surrogate.backends", "bad", code)
    done = plugins.surrogate("doctor", "--json")
    _, found = report(done)
    bad = found["surrogate.backends", "bad"]
    assert done.returncode == 1
    assert (bad["state"], bad["distribution"], bad["version"]) == ("broken", "some-plugin", "1.2")
    assert reason in bad["reason"]
    assert found["surrogate.backends", "autograd"]["state"] == "loads"


def test_a_missing_framework_is_no_fault_and_says_the_command(plugins):
    plugins.add("some-plugin", "surrogate.backends", "other", "import no_such_framework")
    done = plugins.surrogate("doctor", "--json")
    _, found = report(done)
    other = found["surrogate.backends", "other"]
    assert done.returncode == 0
    assert other["state"] == "not installed"
    assert other["reason"].endswith("Install it with: pip install some-plugin")


def test_a_framework_without_a_hook_is_incompatible(plugins):
    code = "import surrogate\nraise surrogate.IncompatibleFrameworkError('no _hook; tested: 1.0')"
    plugins.add("some-plugin", "surrogate.backends", "other", code)
    done = plugins.surrogate("doctor", "--json")
    _, found = report(done)
    assert done.returncode == 1
    assert found["surrogate.backends", "other"]["state"] == "incompatible"
    assert found["surrogate.backends", "other"]["reason"] == "no _hook; tested: 1.0"


def test_packs_are_inspected_too(plugins):
    plugins.add("good-pack", "surrogate.plugins", "good", "x = 1")
    plugins.add("bad-pack", "surrogate.plugins", "bad", "1 / 0")
    done = plugins.surrogate("doctor", "--json")
    _, found = report(done)
    assert done.returncode == 1
    assert found["surrogate.plugins", "good"]["state"] == "loads"
    assert found["surrogate.plugins", "bad"]["reason"] == "ZeroDivisionError: division by zero"


def test_two_distributions_that_provide_one_name_are_told(plugins):
    plugins.add("a-plugin", "surrogate.plugins", "one", "x = 1")
    plugins.add("b-plugin", "surrogate.plugins", "one", "x = 1")
    data, _ = report(plugins.surrogate("doctor", "--json"))
    assert len(data["warnings"]) == 1
    assert "provides one too" in data["warnings"][0]


def test_the_unrelated_distribution_is_detected_and_the_repair_told(plugins):
    plugins.add("surrogate")
    done = plugins.surrogate("doctor")
    assert done.returncode == 1
    assert "the unrelated distribution 'surrogate' 1.2 is installed" in done.stdout
    assert "pip uninstall surrogate" in done.stdout


def test_the_tables_name_every_plugin(plugins):
    plugins.add("some-plugin", "surrogate.backends", "bad", "raise RuntimeError('out of order')")
    done = plugins.surrogate("doctor")
    for text in ("surrogate.backends", "autograd", "some-plugin 1.2", "broken", "out of order"):
        assert text in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_the_private_hooks_of_a_backend_are_told(plugins):
    done = plugins.surrogate("doctor", "--hooks")
    assert "autograd has found these private hooks:" in done.stdout
    assert "autograd.tracer" in done.stdout
