"""tox.ini, the workflow and .ci/run name the same environments."""

import re
import subprocess
import sys

import pytest
import yaml


@pytest.fixture(scope="module")
def environments(root):
    """The environments that ``tox`` alone runs."""
    command = [sys.executable, "-m", "tox", "list", "--no-desc", "-q", "-c", str(root / "tox.ini")]
    shown = subprocess.check_output(command, text=True, cwd=root)
    return [
        line
        for line in shown.partition("additional environments")[0].splitlines()
        if re.match(r"[a-z]", line)
    ]


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
