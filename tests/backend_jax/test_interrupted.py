"""Ctrl-C at random moments: the same numbers afterwards, and nothing in force."""

import subprocess
import sys
from pathlib import Path

STEPS = Path(__file__).with_name("interrupted.py")
HARNESS = Path(__file__).parents[1] / "interrupts.py"
WAYS = ("eager-override", "eager-use", "forward-nested", "compiled-override", "looped-decorated")


def test_leaves_nothing_behind():
    bounds = ("--rounds", "8", "--loading", "1")
    command = [sys.executable, HARNESS, STEPS, *bounds, "--steps", *WAYS]
    found = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert found.returncode == 0, found.stdout + found.stderr[-2000:]
    assert found.stdout.count("later") == len(WAYS)
