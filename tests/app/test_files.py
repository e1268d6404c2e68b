"""Files and outputs that cannot be written: one clear line, before the work where that can be told."""

import json
import os
import sys

import pytest

NOWHERE = "/proc/picture.png"  # a folder that exists, and takes no files even from root

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the place is one of Linux")


@linux
@pytest.mark.parametrize(
    "args",
    [
        ["demo", "--output", NOWHERE],
        ["plot", "sign", "-o", NOWHERE],
        ["plot", "--all", "-o", NOWHERE],
        ["show", "sign:tanh", "--png", NOWHERE],
        ["show", "sign", "--png", NOWHERE],
    ],
    ids=lambda args: " ".join(args[:2]),
)
def test_a_picture_that_cannot_be_written_is_refused_before_the_work(run, args):
    result = run(*args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert f"'{NOWHERE}' cannot be written: " in result.stderr
    assert "Traceback" not in result.stderr


def test_the_trial_leaves_no_file_and_changes_none(run, tmp_path):
    old = tmp_path / "old.png"
    old.write_bytes(b"kept")
    run("demo", "--backend", "bad", "--output", tmp_path / "new.png")
    run("demo", "--backend", "bad", "--output", old)
    assert [path.name for path in tmp_path.iterdir()] == ["old.png"]
    assert old.read_bytes() == b"kept"


def test_the_table_of_the_demo_is_kept_when_the_picture_fails(run, tmp_path, monkeypatch):
    from surrogate.demo import picture

    def full(report, path):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(picture, "save", full)
    path = tmp_path / "a.png"
    result = run("demo", "--epochs", "1", "--output", path)
    assert result.exit_code == 1
    assert "test accuracy" in result.stdout
    assert result.stderr.splitlines()[-1] == f"Error: cannot write {path}: No space left on device."


@linux
@pytest.mark.parametrize("args", [["list"], ["show", "sign:hardtanh"], ["list", "--json"]], ids=" ".join)
def test_a_full_disk_behind_the_output_is_one_line(plugins, args):
    with open("/dev/full", "w") as full:  # noqa: PTH123 -- a device
        done = plugins.surrogate(*args, capture_output=False, stdout=full, stderr=-1)
    assert done.returncode == 1
    assert "cannot write the output: No space left on device." in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_an_interrupt_while_something_is_imported_is_one_word(plugins):
    (plugins.folder / "rich.py").write_text("raise KeyboardInterrupt")
    done = plugins.surrogate("list")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "Aborted!\n")


def test_a_picture_of_an_op_alone_is_drawn(run, tmp_path):
    path = tmp_path / "sign.png"
    result = run("show", "sign", "--png", path)
    assert result.exit_code == 0, result.output
    assert path.read_bytes().startswith(b"\x89PNG\r\n")
    assert "hardtanh" in result.stdout


def test_a_list_loads_no_plugin_again(plugins):
    code = "import pathlib; pathlib.Path('loaded').open('a').write('x'); from surrogate_autograd import *"
    plugins.add("some-plugin", "surrogate.backends", "mine", code)
    first = plugins.surrogate("list", "--json").stdout
    once = (plugins.folder / "loaded").read_text()
    assert plugins.surrogate("list", "--json").stdout == first
    assert (plugins.folder / "loaded").read_text() == once * 2  # it is broken, and so not remembered
    assert json.loads(first)["sign"]["backends"] == {"autograd": True}


def test_what_loads_is_remembered_until_its_files_change(plugins):
    module = plugins.folder / "module_of_some_plugin.py"
    code = (
        "import pathlib; pathlib.Path('loaded').open('a').write('x')\n"
        "from surrogate_autograd._backend import AutogradBackend\n"
        "class Mine(AutogradBackend):\n    name = 'mine'\n"
    )
    plugins.add("some-plugin", "surrogate.backends", "mine", code)
    (plugins.folder / "some_plugin-1.2.dist-info" / "entry_points.txt").write_text(
        "[surrogate.backends]\nmine = module_of_some_plugin\n"
    )
    hook = "import surrogate\n@surrogate.hookimpl\ndef surrogate_backend(name):\n    return Mine()\n"
    module.write_text(code + hook)
    for _ in range(3):
        assert json.loads(plugins.surrogate("list", "--json").stdout)["sign"]["backends"]["mine"] is True
    assert (plugins.folder / "loaded").read_text() == "x"
    os.utime(module, ns=(1, 1))
    plugins.surrogate("list", "--json")
    assert (plugins.folder / "loaded").read_text() == "xx"


def test_doctor_always_looks(plugins):
    plugins.surrogate("list")
    cache = plugins.folder.parent / "cache" / "surrogate" / "inspections.json"
    before = cache.stat().st_mtime_ns
    assert plugins.surrogate("doctor").returncode == 0
    assert cache.stat().st_mtime_ns > before
