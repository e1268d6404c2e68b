"""The kit of one backend, where all frameworks are installed."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_conformance_of_autograd_imports_no_other_framework():
    code = (
        "import sys, pytest; status = pytest.main(['-q', '--collect-only', 'tests/test_conformance.py']); "
        "others = {'torch', 'tensorflow', 'jax'} & set(sys.modules); assert not status and not others, others"
    )
    environment = {**os.environ, "SURROGATE_REQUIRE": "autograd"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
