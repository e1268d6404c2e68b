"""The entry point: what it says before any command can run."""

import shutil
from importlib.metadata import version
from pathlib import Path

import pytest

import surrogate


@pytest.mark.parametrize("package", ["click", "rich"])
def test_without_the_extra_one_line_says_the_command(plugins, package):
    code = f"import sys; sys.modules[{package!r}] = None; from surrogate._main import main; main()"
    done = plugins.python("-c", code)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == (
        f"the command line needs the package {package!r}, which is not installed. "
        'Install it with: pip install "surrogate-gradients[cli]"\n'
    )


def test_the_unrelated_distribution_that_overwrote_us_is_noticed(plugins):
    copy = plugins.folder / "surrogate"
    shutil.copytree(Path(surrogate.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "__init__.py").write_text('"""A library that makes stubs of modules."""\n')
    done = plugins.python("-c", "from surrogate._main import main; main()")
    assert done.returncode == 1
    assert done.stderr.startswith("the unrelated distribution 'surrogate' has overwritten files of")
    assert done.stderr.endswith(
        "pip uninstall surrogate && pip install --force-reinstall --no-deps surrogate-gradients\n"
    )


def test_the_version_is_that_of_the_installed_distribution(plugins):
    done = plugins.surrogate("--version")
    assert done.stdout == f"surrogate, version {version('surrogate-gradients')}\n"


def test_a_terminal_without_unicode_gets_a_replacement(plugins):
    code = (
        "import io, sys; sys.stdout = io.TextIOWrapper(io.FileIO(1, 'w'), encoding='ascii');"
        "sys.argv = ['surrogate', 'show', 'sign:hardtanh']; from surrogate._main import main; main()"
    )
    done = plugins.python("-c", code)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("sign:hardtanh(width=1.0)\n")
