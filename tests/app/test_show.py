"""surrogate show, list and plot: what they print and draw."""

import json

import numpy as np
import pytest

import surrogate
from surrogate.cli._chart import chart

EVERY = [(op, name) for op, names in surrogate.gradients().items() for name in names]
REQUIRED = {"clipped": "clipped(lo=-1, hi=1)"}


@pytest.mark.parametrize(("op", "name"), EVERY, ids=[f"{op}:{name}" for op, name in EVERY])
def test_every_gradient_can_be_shown(run, op, name):
    result = run("show", f"{op}:{REQUIRED.get(name, name)}")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(f"{op}:{name}")
    assert surrogate.gradient(op, REQUIRED.get(name, name)).doc in result.stdout


def test_show_tells_parameters_with_ranges_and_measures(run):
    lines = run("show", "sign:hardtanh(width=1.5)").stdout.splitlines()
    facts = dict(line.strip().split("  ", 1) for line in lines if "  " in line.strip())
    facts = {name: " ".join(text.split()) for name, text in facts.items()}
    assert facts["width"] == "1.5 (default 1, above 0)"
    assert facts["kept for the backward"] == "one boolean byte per element"
    assert facts["mass"] == "3"
    assert facts["peak"] == "1 at x = 0"
    assert facts["half-width"] == "1.5"
    assert facts["even"] == "yes"


def test_show_tells_the_source(run):
    assert "arXiv 1602.02830" in run("show", "sign:hardtanh").stdout


def test_an_upstream_gradient_says_that_it_has_no_forward_mode(run):
    output = run("show", "relu:guided").stdout
    assert "reverse only" in output
    assert "The cotangent of x for g = 1" in output


def test_an_op_alone_lists_its_gradients_with_their_first_lines(run):
    output = run("show", "sign").stdout
    for name in surrogate.gradients("sign"):
        assert f"\n{name} " in output


@pytest.mark.parametrize(
    "args",
    [
        ["show", "sign:tanh(slope=2)", "--png"],
        ["plot", "sign", "-o"],
        ["plot", "sign:tanh(slope=2)", "-o"],
        ["plot", "--all", "-o"],
    ],
    ids=" ".join,
)
def test_pictures_are_written_where_asked(run, tmp_path, args):
    path = tmp_path / "picture.png"
    result = run(*args, path)
    assert result.exit_code == 0, result.output
    assert path.read_bytes().startswith(b"\x89PNG\r\n")


def test_list_tells_ops_gradients_and_backends(plugins):
    done = plugins.surrogate("list", "--json")
    data = json.loads(done.stdout)
    assert list(data) == surrogate.ops()
    assert {op: one["gradients"] for op, one in data.items()} == surrogate.gradients()
    assert data["sign"]["default"] == "hardtanh"
    assert data["sign"]["backends"] == {"autograd": True}


def test_list_marks_the_recommended_gradient_and_the_backend(plugins):
    done = plugins.surrogate("list", "sign")
    assert done.returncode == 0, done.stderr
    assert "hardtanh" in done.stdout
    assert "autograd" in done.stdout


def test_list_leaves_out_a_backend_that_does_not_load(plugins):
    plugins.add("some-plugin", "surrogate.backends", "bad", "1 / 0")
    assert json.loads(plugins.surrogate("list", "--json").stdout)["sign"]["backends"] == {"autograd": True}


def test_a_chart_is_exact_to_the_dot():
    lines = chart(np.array([0.0, 1.0]), np.array([0.0, 2.0]), width=2, height=2)
    assert lines[:2] == ["2 ┤⠀⡜", "0 ┤⡰⠁"]


def test_a_chart_labels_its_axes():
    lines = chart(np.array([-3.0, 3.0]), np.array([0.5, 0.25]), width=12, height=3)
    assert [line[:5] for line in lines[:3]] == ["0.5 ┤", "    ┤", "  0 ┤"]
    assert lines[3] == "     -3    0    3"


def test_a_constant_zero_is_drawn_on_the_axis():
    lines = chart(np.array([-1.0, 1.0]), np.array([0.0, 0.0]), width=2, height=2)
    assert lines[:2] == ["1 ┤⠀⠀", "0 ┤⣀⣀"]


def test_show_gives_json(run):
    data = json.loads(run("show", "sign:hardtanh(width=2)", "--json").stdout)
    assert data["id"] == "sign:hardtanh(width=2.0)"
    assert data["parameters"] == {"width": 2.0}
    assert data["facts"]["mass"] == "4"
    x, derivative = (np.array(data["curve"][name]) for name in ("x", "derivative"))
    assert (derivative == (np.abs(x) <= 2)).all()
    assert 0 < derivative.sum() < x.size


def test_show_gives_json_of_an_op(run):
    data = json.loads(run("show", "sign", "--json").stdout)
    assert (data["inputs"], data["default"]) == (["x"], "hardtanh")
    assert list(data["gradients"]) == surrogate.gradients("sign")


def test_a_chart_in_ascii_is_exact_to_the_character():
    lines = chart(np.array([0.0, 1.0]), np.array([0.0, 2.0]), width=9, height=3, braille=False)
    assert lines == ["2 |      ***", "  |   ***   ", "0 |***      ", "   0  0.5  1"]


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
@pytest.mark.parametrize("command", [["list"], ["show", "sign:tanh"], ["--help"]], ids=" ".join)
def test_nothing_is_cut_or_wider_than_the_terminal(run, monkeypatch, columns, command):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERMINAL_WIDTH", str(columns))
    output = run(*command).stdout
    assert "…" not in output
    assert "..." not in output.replace("COMMAND [ARGS]...", "")
    assert all(len(line) <= columns for line in output.splitlines() if line.lstrip()[:1] in tuple("┃│┤┏"))


@pytest.mark.parametrize("command", [["list", "sign"], ["show", "sign:tanh"]], ids=" ".join)
def test_no_colour_is_written_where_none_is_wanted(plugins, monkeypatch, command):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")  # as if it were a terminal
    assert "\x1b[3" not in plugins.surrogate(*command).stdout


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("Gradient('sign:hardtanh(width=2.0)')", "sign:hardtanh(width=2.0)"),
        ("round:ste", "round:identity"),
        ("%:identity", "mod:identity"),
        ("sign:hardtanh(width=np.float64(2.0))", "sign:hardtanh(width=2.0)"),
    ],
)
def test_what_people_type_is_shown_under_its_name(run, typed, first):
    assert run("show", typed).stdout.splitlines()[0] == first
