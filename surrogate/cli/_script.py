"""Running somebody's script as ``python script.py`` or ``python -m module`` would."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path


def run_script(target: str, args: Sequence[str], *, module: bool) -> None:
    """Run a file, or a module by its name, with ``sys.argv`` and ``sys.path`` as Python would set them.

    They are put back afterwards. What the script raises propagates.
    """
    argv, path = sys.argv, list(sys.path)
    sys.argv = [target, *args]
    try:
        if module:
            sys.path.insert(0, str(Path.cwd()))
            runpy.run_module(target, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, str(Path(target).resolve().parent))
            runpy.run_path(target, run_name="__main__")
    finally:
        sys.argv, sys.path[:] = argv, path
