"""What is in force and where it was put, and what is said of what did nothing."""

import gc
import subprocess
import sys
import warnings
from pathlib import Path

import core_toy
import pytest

import surrogate


@pytest.fixture(autouse=True)
def nothing_stands():
    surrogate.reset()
    yield
    surrogate.reset()


def test_what_is_in_force_is_listed_with_the_line_that_put_it_there(toy):
    first = surrogate.use(toy, {"sign": "identity"})
    line = sys._getframe().f_lineno - 1
    with surrogate.override(toy, {"round": "native"}):
        found = surrogate.in_force()
        toy.hit("sign")
    assert [(one.backend, one.scope, one.where) for one in found] == [
        ("toy", "process", f"{__file__}:{line}"),
        ("toy", "context", f"{__file__}:{line + 2}"),
    ]
    assert found[0].rules == {"sign": surrogate.gradient("sign", "identity")}
    assert found[1].rules == {"round": None}
    assert surrogate.in_force()[0].hits == {"sign": 1}
    first.undo()
    assert surrogate.in_force() == []


def test_reset_undoes_every_use_also_those_whose_handle_is_lost(toy):
    handles = [surrogate.use(toy, {"sign": "identity"}) for _ in range(3)]
    other = core_toy.Toy("other")
    surrogate.use(other, {"round": "identity"})
    surrogate.reset()
    assert toy.here == other.here == {}
    surrogate.reset()
    with pytest.raises(surrogate.ScopeError, match="was undone"):
        handles[0].__enter__()
    handles[0].undo()  # nothing happens, and nothing is said


def test_an_override_that_is_never_entered_says_so_where_it_was_made(toy):
    def forget():
        surrogate.override(toy, {"sign": "identity"})
        gc.collect()

    with pytest.warns(
        surrogate.NothingCapturedWarning, match="override of sign for 'toy' was never entered"
    ) as said:
        forget()
    assert (said[0].filename, said[0].lineno) == (__file__, forget.__code__.co_firstlineno + 1)


@pytest.mark.parametrize("use", ["enter", "decorate", "look"])
def test_one_that_was_used_says_nothing_when_it_is_collected(toy, use):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = surrogate.override(toy, {"sign": "identity"})
        if use == "enter":
            with made:
                toy.hit("sign")
        elif use == "decorate":
            made(lambda: None)
        else:
            assert made.rules
        del made
        gc.collect()


def test_a_shadowed_override_says_which_one_won(toy):
    def run(inner):
        with surrogate.override(toy, {"sign": "identity"}), inner:
            toy.hit("sign") if inner.rules else None

    won = r"sign ran, but an override over it .*test_standing.py:\d+\) won, with 'zero'"
    with pytest.warns(surrogate.NothingCapturedWarning, match=won):
        run(surrogate.override(toy, {"sign": "zero"}))
    with pytest.warns(
        surrogate.NothingCapturedWarning, match=r"an override over it .*test_standing.* leaves sign native"
    ):
        run(surrogate.override(toy, {"sign": "native"}))


def run_program(program, *options):
    folder = str(Path(core_toy.__file__).parent)
    text = f"import sys; sys.path.insert(0, {folder!r})\nimport surrogate, toy\nt = toy.Toy()\n"
    return subprocess.run(
        [sys.executable, *options, "-c", text + program], capture_output=True, text=True, check=False
    )


def test_use_that_captured_nothing_says_so_when_the_process_ends():
    done = run_program("surrogate.use(t, {'sign': 'identity'})")
    assert "NothingCapturedWarning: the override of sign for 'toy' captured nothing" in done.stderr
    assert "<string>:4" in done.stderr


@pytest.mark.parametrize(
    "program",
    [
        "surrogate.use(t, {'sign': 'identity'}); t.hit('sign')",
        "surrogate.use(t, {'sign': 'identity'}); surrogate.reset()",
    ],
)
def test_nothing_is_said_at_the_end_of_what_captured_or_was_undone(program):
    assert run_program(program).stderr == ""


def test_a_program_that_failed_has_other_news():
    done = run_program("surrogate.use(t, {'sign': 'identity'}); raise KeyError('mine')")
    assert "mine" in done.stderr
    assert "captured nothing" not in done.stderr


@pytest.mark.parametrize(
    ("cells", "left"),
    [
        (
            ["h = surrogate.use(toy, {'sign': 'identity'})", "h = surrogate.use(toy, {'sign': 'zero'})"],
            ["zero"],
        ),
        (["surrogate.use(toy, {'sign': 'identity'})"] * 3, ["identity"]),
        (
            ["a = surrogate.use(toy, {'sign': 'identity'})", "b = surrogate.use(toy, {'sign': 'zero'})"],
            ["identity", "zero"],
        ),
        (["hs = [surrogate.use(toy, {'sign': 'identity'}) for _ in 'ab']"], ["identity", "identity"]),
    ],
    ids=["name", "line", "names", "list"],
)
def test_a_notebook_cell_that_is_run_again_replaces_its_own_use(toy, cells, left):
    namespace = {"__name__": "__main__", "surrogate": surrogate, "toy": toy}
    for cell in cells:
        exec(compile(cell, "<ipython-input-1>", "exec"), namespace)
    assert [one.rules["sign"].spec for one in surrogate.in_force()] == left


def test_a_script_keeps_each(toy, tmp_path):
    script = tmp_path / "script.py"
    script.write_text("for _ in range(2):\n    h = surrogate.use(toy, {'sign': 'identity'})\n")
    exec(
        compile(script.read_text(), str(script), "exec"),
        {"__name__": "__main__", "surrogate": surrogate, "toy": toy},
    )
    assert len(surrogate.in_force()) == 2
