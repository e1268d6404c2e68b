"""Every python block of README and docs runs, and prints what its comments say.

The blocks of a page share one namespace, from top to bottom. A block belongs to the framework that it
names; SURROGATE_REQUIRE says which frameworks are to be run here, with none the blocks that need none.
"""

import contextlib
import importlib.util
import io
import os
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import surrogate

_spec = importlib.util.spec_from_file_location("docs_blocks", Path(__file__).with_name("blocks.py"))
docs = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = docs
_spec.loader.exec_module(docs)

HERE = [name for name in os.environ.get("SURROGATE_REQUIRE", "").split(",") if name] or [None]
STORIES = [(page, name) for name in HERE for page in docs.PAGES if docs.story(page, name)]


@pytest.mark.parametrize(
    ("page", "framework"),
    STORIES,
    ids=[f"{page.relative_to(docs.ROOT)}-{name or 'core'}" for page, name in STORIES],
)
def test_the_page_runs_and_prints_what_it_says(page, framework, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for block in docs.story(page, framework):
        # padded, so that a traceback names the line of the page
        code = compile("\n" * (block.line - 1) + block.code, str(page), "exec")
        with contextlib.redirect_stdout(io.StringIO()) as out, warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.simplefilter("error", surrogate.SurrogateWarning)
            exec(code, namespace)
        if block.prints:
            printed = [" ".join(line.split()).replace("[ ", "[") for line in out.getvalue().splitlines()]
            assert printed == block.prints, f"line {block.line}"


@pytest.mark.parametrize("page", docs.PAGES, ids=[str(page.relative_to(docs.ROOT)) for page in docs.PAGES])
def test_a_block_is_about_one_framework(page):
    for block in docs.blocks(page):
        assert block.framework in (None, *docs.FRAMEWORKS)


COMMANDS = sorted(
    {line for page in docs.PAGES for line in docs.commands(page) if line.startswith("surrogate ")}
)


@pytest.mark.skipif(
    HERE != [None], reason="the command line is there with the extra of the application tests"
)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_pages_runs(command, tmp_path):
    program, verb, *rest = shlex.split(command)
    given = (
        ["--help"] if verb in ("demo", "check") else rest
    )  # minutes, or a framework; they have their own tests
    run = subprocess.run([program, verb, *given], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_the_pages_show_commands():
    assert len(COMMANDS) >= 4
