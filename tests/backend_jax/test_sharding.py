"""Explicit sharding: what a rule gives has the type of the native result, in every mode.

Eight host devices, which have to be asked for before JAX starts: each group of modes is a process.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

GROUPS = ("direct", "mapped", "second", "manual")


@pytest.mark.parametrize("group", GROUPS)
def test_on_eight_devices(group):
    flags = os.environ.get("XLA_FLAGS", "").replace("_count=4", "_count=8")
    script = Path(__file__).with_name("sharded.py")
    subprocess.run([sys.executable, str(script), group], check=True, env={**os.environ, "XLA_FLAGS": flags})
