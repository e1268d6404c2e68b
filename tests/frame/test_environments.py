"""tox.ini, the workflow and .ci/run name the same environments."""

import re
import runpy
import subprocess
import sys

import pytest
import yaml


@pytest.fixture(scope="module")
def environments(root):
    """The environments that ``tox`` alone runs."""
    command = [sys.executable, "-m", "tox", "list", "-d", "--no-desc", "-q", "-c", str(root / "tox.ini")]
    shown = subprocess.check_output(command, text=True, cwd=root)
    return [line for line in shown.splitlines() if re.match(r"[a-z]", line)]


@pytest.fixture(scope="module")
def jobs(root):
    """Environment -> Python version, as the workflow runs them."""
    workflow = yaml.safe_load((root / ".github" / "workflows" / "tests.yml").read_text())
    matrix = workflow["jobs"]["tox"]["strategy"]["matrix"]
    [python] = matrix["python"]
    return dict.fromkeys(matrix["env"], python) | {job["env"]: job["python"] for job in matrix["include"]}


def test_the_workflow_runs_every_environment_and_no_other(environments, jobs):
    assert sorted(jobs) == sorted(environments)


def test_the_workflow_brings_the_python_that_the_environment_names(jobs):
    named = {env: found[1] for env in jobs if (found := re.search(r"-py3(\d+)$", env))}
    assert {env: jobs[env] for env in named} == {env: f"3.{minor}" for env, minor in named.items()}


def test_ci_run_names_environments_of_tox(environments, root):
    script = (root / ".ci" / "run").read_text()
    named = ",".join(re.findall(r"^usual\+?=(.*)$", script, re.MULTILINE)).split(",")
    assert set(filter(None, named)) <= set(environments)


def test_the_nightly_workflow_takes_the_newest_of_every_framework(root):
    workflow = yaml.safe_load((root / ".github" / "workflows" / "nightly.yml").read_text())
    names = workflow["jobs"]["newest"]["strategy"]["matrix"]["framework"]
    assert sorted(names) == sorted(path.name.partition("_")[2] for path in (root / "backends").iterdir())
    command = [sys.executable, "-m", "tox", "config", "-c", str(root / "tox.ini"), "-k", "constraints", "-e"]
    shown = subprocess.check_output([*command, ",".join(f"{n}-newest" for n in names)], text=True, cwd=root)
    assert re.findall(r"constraints = ?(.*)", shown) == [""] * len(names)


def test_the_nightly_workflow_runs_environments_that_there_are(root):
    workflow = yaml.safe_load((root / ".github" / "workflows" / "nightly.yml").read_text())
    rest = workflow["jobs"]["rest"]["strategy"]["matrix"]["env"]
    command = [sys.executable, "-m", "tox", "config", "-c", str(root / "tox.ini"), "-k", "commands", "-e"]
    shown = subprocess.check_output([*command, ",".join(rest)], text=True, cwd=root)
    sections = shown.split("[testenv:")[1:]
    assert [section.partition("]")[0] for section in sections] == rest
    for section in sections:
        assert re.search(r"commands =\s+\S", section), section


def test_the_pre_commit_hooks_have_the_pinned_versions(root):
    pinned = set((root / "constraints" / "newest.txt").read_text().splitlines())
    config = yaml.safe_load((root / ".pre-commit-config.yaml").read_text())
    hooks = [hook for repo in config["repos"] for hook in repo["hooks"]]
    wanted = {name for hook in hooks for name in hook["additional_dependencies"] if "==" in name}
    assert wanted <= pinned


@pytest.mark.parametrize(
    ("required", "classes"),
    [
        ("torch", ["TestTorch"]),
        ("autograd,jax", ["TestAutograd", "TestJax"]),
        ("", ["TestAutograd", "TestJax", "TestTensorFlow", "TestTorch"]),
    ],
)
def test_the_conformance_of_one_backend_is_collected_alone(root, monkeypatch, required, classes):
    monkeypatch.setenv("SURROGATE_REQUIRE", required)
    monkeypatch.setenv("JAX_ENABLE_X64", "1")
    found = runpy.run_path(str(root / "tests" / "test_conformance.py"))
    assert sorted(name for name in found if name.startswith("Test")) == classes
