"""``surrogate run``, and ``SURROGATE_RULES`` for a process that somebody else starts."""

import os
import shlex
import subprocess
import sys

import pytest

pytest.importorskip("autograd", reason="the script is written in autograd")

SCRIPT = """
import sys
import autograd.numpy as anp
from autograd import grad

def loss(x):
    return anp.round(x) * 3.0

if __name__ == "__main__":
    print(sys.argv[1:], grad(loss)(1.3))
    if "fail" in sys.argv:
        raise KeyError("mine")
    if "leave" in sys.argv:
        sys.exit(7)
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    return path


def run(*words, env=None, cwd=None):
    return subprocess.run(
        [sys.executable, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**os.environ, **(env or {})},
    )


def surrogate_run(*words, **options):
    return run("-m", "surrogate", "run", *words, **options)


def test_a_script_runs_under_the_rules_with_its_own_arguments(script):
    done = surrogate_run("-r", "round=identity", script, "--epochs", "3", "-r")
    assert done.stdout == "['--epochs', '3', '-r'] 3.0\n"
    assert done.returncode == 0
    assert "captured: round 1" in done.stderr
    assert "train.py:7:loss" in done.stderr


def test_without_rules_the_recommended_ones_are_in_force(script):
    assert surrogate_run("--backend", "autograd", script).stdout == "[] 3.0\n"


def test_a_module_and_a_file_of_rules(script, tmp_path):
    rules = tmp_path / "rules.toml"
    rules.write_text('outside = "train.elsewhere"\n[rules]\nround = "identity"\n')
    done = surrogate_run("--rules", rules, "-m", "train", "a", cwd=tmp_path)
    assert done.stdout == "['a'] 3.0\n"
    assert "outside='train.elsewhere'" in done.stderr


@pytest.mark.parametrize(("word", "status"), [("fail", 1), ("leave", 7)])
def test_the_status_is_the_scripts_and_what_was_caught_is_told(script, word, status):
    done = surrogate_run("-r", "round=identity", script, word)
    assert done.returncode == status
    assert "captured: round 1" in done.stderr
    assert ("KeyError: 'mine'" in done.stderr) == (word == "fail")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-r", "round", "{script}"], "is not of the form op=gradient"),
        (
            ["--backend", "autograd", "-r", "rnd=identity", "{script}"],
            "unknown op 'rnd': did you mean 'round'?",
        ),
        (["missing.py"], "there is no file 'missing.py'"),
        ([], "name the SCRIPT to run"),
        (["--print-env"], "--print-env takes either"),
        (["--rules", "missing.toml", "{script}"], "cannot read the rules in 'missing.toml'"),
    ],
)
def test_what_cannot_be_is_refused_before_the_script_runs(script, words, said):
    done = surrogate_run(*[word.format(script=script) for word in words])
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
    assert done.stdout == ""


@pytest.mark.parametrize("text", ["round=identity", "{file}"])
def test_the_environment_does_the_same_for_a_process_of_somebody_elses(script, tmp_path, text):
    rules = tmp_path / "rules.toml"
    rules.write_text('[rules]\nround = "identity"\n')
    option = ["--rules", rules] if "file" in text else ["-r", text]
    printed = surrogate_run("--print-env", *option).stdout
    assert printed.startswith("export SURROGATE_RULES=")
    env = dict(word.split("=", 1) for word in shlex.split(printed)[1:])
    done = run(script, env=env)
    assert done.stdout == "[] 3.0\n"
    assert "surrogate: SURROGATE_RULES=" in done.stderr


def test_without_the_hook_the_first_import_of_the_library_reads_it(script, tmp_path):
    (tmp_path / "mine.py").write_text(
        "import surrogate, train\nfrom autograd import grad\nprint(grad(train.loss)(1.3))\n"
    )
    done = run(tmp_path / "mine.py", env={"SURROGATE_RULES": "round=identity"})
    assert done.stdout == "3.0\n"
    native = run(script, env={"SURROGATE_RULES": "round=identity"})
    assert native.stdout == "[] 0.0\n"


def test_the_hook_lets_another_sitecustomize_run(tmp_path, script):
    (tmp_path / "sitecustomize.py").write_text("print('theirs')\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    printed = surrogate_run("--print-env", "-r", "round=identity", env={"PYTHONPATH": path})
    env = dict(word.split("=", 1) for word in shlex.split(printed.stdout.replace("theirs\n", ""))[1:])
    assert run(script, env=env).stdout == "theirs\n[] 3.0\n"
