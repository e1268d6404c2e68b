"""What the core costs: importing it, and entering and leaving an override.

``python benchmarks/bench_core.py [--json FILE]``
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import surrogate

RULES = {
    "sign": "hardtanh",
    "round": "identity",
    "floor": "identity",
    "ceil": "identity",
    "trunc": "identity",
    "mod": "exact",
    "fmod": "exact",
    "floor_divide": "identity",
    "heaviside": "arctan",
    "clip": "closed",
}
IMPORT = (
    "import time; a = time.perf_counter(); import numpy; b = time.perf_counter(); import surrogate; "
    "print((time.perf_counter() - a) / (b - a))"
)


class Idle(surrogate.Backend):
    """A backend without a framework: what is measured is the core alone."""

    name = "idle"
    framework = "numpy"
    ops = frozenset(RULES)
    xp = None

    def apply(self, rules: Any, scope: Any) -> None:
        pass

    def asarray(self, x: Any) -> Any:
        return x

    def numpy(self, x: Any) -> Any:
        return x

    def call(self, op: str, *inputs: Any, **attributes: Any) -> Any:
        raise NotImplementedError

    def grad(self, f: Any, inputs: Any, g: Any) -> Any:
        raise NotImplementedError


def import_ratio(runs: int = 9) -> float:
    """Time of ``import surrogate`` (which imports numpy) over that of ``import numpy``; median."""
    command = [sys.executable, "-c", IMPORT]
    return median(
        float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(runs)
    )


def enter_and_leave(backend: surrogate.Backend, rounds: int = 200, repeats: int = 50) -> float:
    """Microseconds to make, enter and leave an override of ten rules; median over bursts."""
    bursts = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(rounds):
            with surrogate.override(backend, RULES):
                backend.state().captured("sign")
        bursts.append((time.perf_counter() - start) / rounds)
    return median(bursts) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the numbers to this file")
    given = parser.parse_args()
    found = {"import_ratio": import_ratio(), "override_microseconds": enter_and_leave(Idle())}
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))
    print(f"import surrogate / import numpy           {found['import_ratio']:.2f}   (at most 2)")
    print(f"override of 10 rules, entered and left    {found['override_microseconds']:.1f} us (at most 20)")


if __name__ == "__main__":
    main()
