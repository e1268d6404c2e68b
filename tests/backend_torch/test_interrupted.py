"""Ctrl-C at random moments: the same numbers afterwards, and nothing in force."""

import subprocess
import sys
from pathlib import Path

import pytest

STEPS = Path(__file__).with_name("interrupted.py")
HARNESS = Path(__file__).parents[1] / "interrupts.py"
SHORT = ("eager", "backward_later", "checkpointed", "checkpointed_reentrant", "transformed")
WAYS = ("override", "use", "nested", "decorated")


@pytest.mark.parametrize(
    ("rounds", "loading", "steps"),
    [
        (60, 1, [f"{step}-{way}" for step in SHORT for way in WAYS]),
        (20, 1, ["compiled-override", "compiled-use"]),
        (4, 1, ["compiling-override"]),
    ],
    ids=["eager", "compiled", "compiling"],
)
def test_leaves_nothing_behind(rounds, loading, steps):
    command = [
        sys.executable,
        HARNESS,
        STEPS,
        "--rounds",
        str(rounds),
        "--loading",
        str(loading),
        "--steps",
        *steps,
    ]
    found = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert found.returncode == 0, found.stdout + found.stderr[-2000:]
    assert found.stdout.count(", later:") == len(steps)
