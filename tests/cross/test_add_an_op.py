"""The op of the worked example of CONTRIBUTING passes the kit in every backend."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "add_an_op.py"
PROMISES = ("value", "spellings")


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The library with the op."""
    folder = tmp_path_factory.mktemp("add_an_op") / "copy"
    folder.mkdir()
    runpy.run_path(str(EXAMPLE))["replay"](folder)
    return folder


@pytest.mark.parametrize("backend", ["autograd", "jax", "tensorflow", "torch"])
def test_the_op_passes_the_kit(backend, copy):
    promises = [word for name in PROMISES for word in ("--promise", name)]
    command = [sys.executable, "-m", "surrogate", "check", backend, "--op", "expm1", *promises]
    environment = {**os.environ, "PYTHONPATH": f"{copy}{os.pathsep}{copy / 'backends'}"}
    done = subprocess.run(command, env=environment, cwd=copy, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert " passed" in done.stdout
