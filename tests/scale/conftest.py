"""The scripts of ``docs/examples/scale``, started as their users start them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "docs" / "examples" / "scale"


@pytest.fixture
def started():
    """Run a script to its end, ``launcher`` before its name, and give the lines that it printed."""

    def start(script, *words, launcher=(), env=None):
        done = subprocess.run(
            [sys.executable, *launcher, str(SCRIPTS / script), *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            env={**os.environ, **(env or {})},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return start
