"""The pytest plugin: two lines are a whole suite, the matrix is printed and written, overrides are undone."""

import json
import os
import subprocess
import sys

import pytest
from toy.backend import Toy

import surrogate
from surrogate.testing import undone

pytest_plugins = ["pytester"]

SUITE = """
from surrogate.testing import Conformance
from toy.backend import Toy

class Small(Toy):
    name = "small"
    ops = frozenset({"sign"})
    transforms = frozenset({"forward"})
    dtypes = ("float32",)
    %s

class TestSmall(Conformance):
    backend = Small()
    %s
"""
WRONG = "def vjp(self, rule, saved, g, needs): return [c + c for c in super().vjp(rule, saved, g, needs)]"


def run(pytester, body="", expected="", *arguments):
    pytester.makepyfile(SUITE % (body, expected))
    return pytester.runpytest("-q", "-p", "no:cacheprovider", *arguments)


def test_honest_backend_passes_and_the_matrix_is_printed(pytester):
    done = run(pytester)
    assert done.ret == 0
    done.stdout.fnmatch_lines(["*surrogate conformance*", "small (numpy *): * passed", "*sign * ok *"])
    done.stdout.fnmatch_lines(
        ["  not claimed, not checked: vmap, compile, second, residuals, learned, discrete"]
    )


def test_failure_names_the_check_and_its_numbers(pytester):
    done = run(pytester, WRONG)
    assert done.ret == 1
    done.stdout.fnmatch_lines(
        [
            "E *BrokenPromiseError: the derivative of sign:hardtanh for x is wrong*",
            "*x=-1  g=1  got=2  expected=1*",
            "*FAILED*::TestSmall::test_vjp[[]sign:hardtanh-float32-eager[]]*",
        ],
    )


def test_matrix_is_written(pytester):
    run(pytester, "", "", "--surrogate-matrix=m.json", "--surrogate-matrix=m.html", "-k", "vjp")
    data = json.loads((pytester.path / "m.json").read_text())
    assert data["backends"]["small"]["counts"]["passed"] > 0
    assert "<!doctype html>" in (pytester.path / "m.html").read_text()


def test_a_matrix_that_cannot_be_written_is_told_before_the_run(pytester):
    done = run(pytester, "", "", "--surrogate-matrix=no/m.json")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["ERROR: --surrogate-matrix=no/m.json: there is no folder */no."])


def test_expected_failures_are_strict_and_in_the_matrix(pytester):
    known = "expected_failures = {'vjp[sign:identity-*]': 'doubled', 'vjp[sign:zero-*]': 'not so'}"
    done = run(pytester, WRONG, known, "-k", "test_vjp and (identity or zero)", "--surrogate-matrix=m.json")
    done.assert_outcomes(xfailed=1, failed=1, deselected=done.parseoutcomes()["deselected"])
    cells = json.loads((pytester.path / "m.json").read_text())["cells"]
    found = next(c for c in cells if (c["op"], c["mode"]) == ("sign", "eager"))
    assert found["counts"] == {"expected failure": 1, "unexpected pass": 1}


def test_what_the_framework_does_not_have_is_skipped_and_not_passed(pytester):
    body = "ops = frozenset({'round'})\n    def call(self, op, *inputs): return super().call(op, *inputs)"
    done = run(pytester, body, "", "-k", "decimals and identity", "--surrogate-matrix=m.json")
    done.assert_outcomes(skipped=2, deselected=done.parseoutcomes()["deselected"])
    assert json.loads((pytester.path / "m.json").read_text())["backends"]["small"]["counts"] == {
        "passed": 0,
        "failed": 0,
        "expected failure": 0,
        "unexpected pass": 0,
        "not applicable": 2,
    }


def test_expected_failure_of_nothing_is_an_error_where_warnings_are(pytester):
    done = run(pytester, "", "expected_failures = {'vjp[sgin:*]': 'why'}", "-W", "error")
    assert done.ret != 0
    done.stdout.fnmatch_lines(["*ConformanceWarning*names no check of this backend*"])


def test_missing_framework_fails_unless_it_is_optional(pytester, monkeypatch):
    def missing(backend):
        raise surrogate.MissingFrameworkError(
            "the backend 'x' needs the package 'x', which is not installed."
        )

    monkeypatch.setattr("surrogate.testing._conformance.load_backend", missing)
    suite = "from surrogate.testing import Conformance\nclass TestX(Conformance):\n    backend = 'x'\n"
    pytester.makepyfile(suite)
    assert pytester.runpytest("-q").ret != 0
    pytester.makepyfile(suite + "    optional = True\n")
    monkeypatch.delenv("SURROGATE_REQUIRE", raising=False)
    done = pytester.runpytest("-q", "-rs")
    assert done.ret == 0
    done.stdout.fnmatch_lines(["*not installed: the backend 'x' needs*"])
    monkeypatch.setenv("SURROGATE_REQUIRE", "torch, x")
    assert pytester.runpytest("-q").ret != 0


@pytest.fixture
def backend():
    toy = Toy()
    toy.name = "toy-for-undo"
    surrogate.register_backend(toy)
    return toy


def test_undone_takes_back_what_a_block_left(backend):
    kept = surrogate.use(backend, {"sign": "identity"})
    with undone():
        surrogate.use(backend, {"round": "zero"})
        surrogate.override(backend, {"sign": "tanh"}).__enter__()
    assert dict(backend.state().rules) == {"sign": surrogate.gradient("sign", "identity")}
    with undone():
        kept._backend.store.uninstall(kept._layer)
    assert not backend.state().rules


def test_fixture_undoes_overrides(pytester):
    pytester.makepyfile(
        """
        import surrogate
        from toy.backend import Toy

        toy = Toy()
        toy.name = "toy-for-fixture"
        surrogate.register_backend(toy)

        def test_leaves_one(undo_overrides):
            surrogate.use(toy, {"sign": "identity"})

        def test_sees_none():
            assert not toy.state().rules
        """
    )
    pytester.runpytest("-q").assert_outcomes(passed=2)


@pytest.mark.parametrize("used", [False, True], ids=["not used", "used"])
def test_a_run_imports_the_library_only_if_it_uses_the_kit(tmp_path, used):
    report = "import sys; print([m for m in ('surrogate', 'numpy', 'pluggy') if m in sys.modules])"
    loaded = "assert config.pluginmanager.has_plugin('surrogate')"
    (tmp_path / "conftest.py").write_text(f"def pytest_unconfigure(config):\n    {loaded}\n    {report}\n")
    fixture = "undo_overrides" if used else "tmp_path"
    (tmp_path / "test_mine.py").write_text(
        f"import pytest\n@pytest.mark.parametrize('check', [1])\ndef test(check, {fixture}): pass\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "surrogate"]
    alone = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # somebody else's may import NumPy
    done = subprocess.run(command, cwd=tmp_path, env=alone, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == str(["surrogate", "numpy", "pluggy"] if used else ["pluggy"])


def test_kit_imports_no_framework():
    code = "import sys, surrogate.testing; print([m for m in ('torch', 'jax', 'pytest') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_failing_test_prints_what_it_audited(pytester):
    pytester.makepyfile(
        """
        import numpy as np

        def test_clean(audit):
            import autograd.numpy as anp
            assert audit("autograd", lambda w: anp.sum(w**2), np.ones(3)).ok()

        def test_cut(audit):
            import autograd.numpy as anp
            assert audit("autograd", lambda w: anp.sum(anp.sign(w)), np.ones(3)).ok("zero")
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*Captured audit call*", "*error*zero*sign*no gradient reaches arg0"])
