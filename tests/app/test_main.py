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


def test_a_broken_backend_is_one_message(plugins):
    plugins.add("some-plugin", "surrogate.backends", "bad", "raise RuntimeError('out of order')")
    done = plugins.surrogate("demo", "--backend", "bad", "--json")
    assert (done.returncode, done.stdout) == (1, "")
    assert "the backend 'bad' (from some-plugin 1.2) is broken: RuntimeError: out of order" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_backend_without_a_network_is_told_with_those_that_have_one(run, toy_backend):
    result = run("demo", "--backend", toy_backend, "--json")
    assert result.exit_code == 2
    assert "unknown network 'toy' of the demo" in result.stderr
    assert "autograd" in result.stderr


def test_python_m_is_the_command(plugins):
    assert plugins.python("-m", "surrogate", "--version").stdout == plugins.surrogate("--version").stdout
