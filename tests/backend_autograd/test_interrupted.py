"""Ctrl-C at random moments: the same numbers afterwards, and nothing in force."""

import subprocess
import sys
from pathlib import Path

STEPS = Path(__file__).with_name("interrupted.py")
HARNESS = Path(__file__).parents[1] / "interrupts.py"


def test_leaves_nothing_behind():
    command = [sys.executable, HARNESS, STEPS, "--total", "400"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert found.returncode == 0, found.stdout + found.stderr[-2000:]
    assert found.stdout.endswith("400 interrupts, 0 faults, after 0 the framework itself was broken\n")
