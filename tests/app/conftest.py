import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from surrogate.cli import cli


@pytest.fixture
def run():
    """Run a command in this process: ``run("show", "sign")``."""

    def run(*args):
        return CliRunner().invoke(cli, [str(arg) for arg in args], prog_name="surrogate")

    return run


@pytest.fixture
def toy_backend(monkeypatch):
    """The name of a backend that loads and does nothing."""
    from surrogate_autograd import AutogradBackend

    from surrogate import _plugins

    toy = AutogradBackend()
    toy.name = "toy"
    monkeypatch.setitem(_plugins._loaded, "toy", toy)
    return "toy"


@pytest.fixture
def plugins(tmp_path):
    """A folder of fake installed distributions, and commands that see them in a process of their own."""
    return Plugins(tmp_path / "site")


class Plugins:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def add(self, distribution, group="", name="", code=""):
        """Install a distribution with one entry point, whose module holds ``code``."""
        info = self.folder / f"{distribution.replace('-', '_')}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.2\n")
        if group:
            module = f"module_of_{distribution.replace('-', '_')}"
            (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {module}\n")
            (self.folder / f"{module}.py").write_text(code)

    def python(self, *args, **kwargs):
        """Run Python with the folder on its path; our own heavy backends are disabled."""
        path = filter(None, [str(self.folder), os.environ.get("PYTHONPATH")])
        env = dict(os.environ, PYTHONPATH=os.pathsep.join(path))
        env["SURROGATE_DISABLED_PLUGINS"] = "jax,tensorflow,torch"
        env["XDG_CACHE_HOME"] = str(self.folder.parent / "cache")
        given = {"capture_output": True, "text": True, "cwd": self.folder, "check": False, "env": env}
        return subprocess.run([sys.executable, *args], **(given | kwargs))

    def surrogate(self, *args, **kwargs):
        """Run the command ``surrogate``."""
        return self.python("-m", "surrogate._main", *args, **kwargs)
