"""Ctrl-C at random moments: the same numbers afterwards, and nothing in force."""

import subprocess
import sys
from pathlib import Path

import pytest

STEPS = Path(__file__).with_name("interrupted.py")
HARNESS = Path(__file__).parents[1] / "interrupts.py"
WAYS = ("override", "use", "nested", "decorated")


@pytest.mark.parametrize(
    ("rounds", "loading", "steps"),
    [
        (40, 0, [f"{step}-{way}" for step in ("eager", "backward_later") for way in WAYS]),
        (20, 1, ["compiled-override", "recomputed-override"]),
        (5, 0, ["tracing-override"]),
    ],
    ids=["eager", "compiled", "tracing"],
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
    assert found.stdout.count(", later") == len(steps)
