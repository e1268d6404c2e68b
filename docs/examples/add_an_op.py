"""Replay the worked example of CONTRIBUTING: ``add_an_op.diff`` adds ``expm1`` to a copy of the library.

python docs/examples/add_an_op.py FOLDER
PYTHONPATH=FOLDER:FOLDER/backends python -m surrogate check torch --op expm1
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PACKAGES = ("surrogate", "backends")


def replay(folder: Path) -> None:
    """Copy the packages into a folder, apply the diff, and write what is written from the catalogue."""
    for name in PACKAGES:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "generate_names.py", folder / "docs")
    subprocess.run(["git", "apply", str(HERE / "add_an_op.diff")], cwd=folder, check=True)
    environment = {"PYTHONPATH": str(folder)}
    subprocess.run([sys.executable, "docs/generate_names.py"], cwd=folder, check=True, env=environment)


if __name__ == "__main__":
    replay(Path(sys.argv[1]))
