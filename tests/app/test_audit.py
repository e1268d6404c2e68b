"""``surrogate audit``: an unmodified script up to the first gradient that it asks for; and the page."""

import json
import re
from html.parser import HTMLParser
from io import StringIO

import pytest
from rich.console import Console

import surrogate
from surrogate.auditing import Report

SCRIPT = """
import sys
import autograd.numpy as np
from autograd import grad

def loss(p, x):
    h = np.round(x * p["w"])  # here
    return np.sum(h ** 2 + p["b"])

g = grad(loss)
for step in range(3):
    p = {"w": np.ones(3) * step, "b": np.ones(3)}
    print("gradient", step, g(p, np.arange(3.0))["b"], sys.argv[1:])
"""


@pytest.fixture
def script(tmp_path):
    file = tmp_path / "train.py"
    file.write_text(SCRIPT)
    return file


@pytest.fixture
def surrogate_command(plugins):
    return plugins.surrogate


def test_a_script_is_audited_and_stopped(surrogate_command, script):
    done = surrogate_command("audit", script)
    assert done.returncode == 1, done.stderr
    assert "autograd: 1 of 2 parameters have a gradient" in done.stdout
    assert re.search(r"error\s+zero\s+round\s+train.py:7 in loss", done.stdout)
    assert 'surrogate.override("autograd", {"round": "identity"})' in done.stdout
    assert "gradient 0" not in done.stdout


def test_a_later_step_and_arguments_of_the_script(surrogate_command, script):
    done = surrogate_command("audit", "--step", "3", script, "--level", "a b")
    assert done.returncode == 1, done.stderr
    assert done.stdout.count("['--level', 'a b']") == 2


def test_the_script_may_go_on(surrogate_command, script):
    done = surrogate_command("audit", "--continue", script)
    assert done.returncode == 1, done.stderr
    assert [f"gradient {n}" in done.stdout for n in range(3)] == [True] * 3
    assert done.stdout.index("no gradient reaches w") < done.stdout.index("gradient 0")


def test_a_module(surrogate_command, script):
    done = surrogate_command("audit", "-m", "train", cwd=script.parent)
    assert done.returncode == 1, done.stderr
    assert "train.py:7 in loss" in done.stdout


def test_json_and_the_mapping_have_standard_output_for_themselves(surrogate_command, script):
    done = surrogate_command("audit", "--json", "--continue", script)
    report = Report.from_json(json.loads(done.stdout))
    assert report.suggest() == {"round": "identity"}
    assert "gradient 2" in done.stderr
    done = surrogate_command("audit", "--suggest", script)
    assert json.loads(done.stdout) == {"round": "identity"}


def test_kinds_that_are_not_there_leave_it_clean(surrogate_command, script):
    done = surrogate_command("audit", "--kinds", "nonfinite, dead", script)
    assert done.returncode == 0, done.stderr
    assert "0 findings" in done.stdout


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import autograd", "the script ended and asked for no gradient"),
        ("import sys; sys.exit(4)", "the script ended with status 4 and asked for no gradient"),
        ("1 / 0", "the script failed before it asked for gradient 1"),
    ],
)
def test_a_script_without_a_gradient_is_status_3(surrogate_command, script, code, words):
    script.write_text(code)
    done = surrogate_command("audit", script)
    assert done.returncode == 3
    assert words in " ".join(done.stderr.split())
    assert ("ZeroDivisionError" in done.stderr) == ("1 / 0" in code)


def test_what_is_wrong_with_the_command_is_told_before_the_script_runs(surrogate_command, script, tmp_path):
    for args, words in [
        (["nowhere.py"], "no file 'nowhere.py'"),
        (["--kinds", "cuts", script], "did you mean 'cut'"),
        (["--html", tmp_path / "no" / "page.html", script], "no folder"),
        (["--step", "0", script], "--step"),
        (["--level", "warn", script], "--level"),
    ]:
        done = surrogate_command("audit", *args)
        assert done.returncode == 2
        assert words in " ".join(done.stderr.split())
        assert "gradient" not in done.stdout


def test_the_command_writes_a_page(surrogate_command, script, tmp_path):
    page = tmp_path / "page.html"
    surrogate_command("audit", "--html", page, script)
    assert "no gradient reaches w" in page.read_text()


def test_run_may_audit_first(surrogate_command, script):
    done = surrogate_command("run", "--audit-first", script)
    assert done.returncode == 0, done.stderr
    assert [f"gradient {n}" in done.stdout for n in range(3)] == [True] * 3
    assert "round" in done.stderr
    script.write_text(SCRIPT.replace("np.round", "np.exp"))
    done = surrogate_command("run", "--audit-first", script)
    assert done.returncode == 0, done.stderr
    assert "suggests no override" in done.stderr


# -- the page ----------------------------------------------------------------------------------------


class Reader(HTMLParser):
    """Tags in balance, ids and references, and everything that would be loaded from elsewhere."""

    VOID = frozenset(("meta", "link", "br", "img"))

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.loaded, self.words = [], set(), set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids.add(given.get("id"))
        if tag == "a":
            self.links.add(given["href"].removeprefix("#"))
        if tag in ("script", "link", "img", "iframe") or "src" in given:
            self.loaded.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_the_page_is_whole_and_loads_nothing(tmp_path):
    import autograd.numpy as anp

    def program(p, x):
        for w in p["layers"]:
            x = anp.tanh(anp.dot(x, w))
        return anp.sum(x * anp.sign(p["gate<1>"]))

    import numpy as np

    p = {"layers": [np.ones((3, 3)) * 0.1] * 3, "gate<1>": np.ones(3)}
    report = surrogate.audit("autograd", program, p, np.ones((2, 3)))
    report.to_html(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    read = Reader(text)
    assert read.open == []
    assert read.loaded == []
    assert read.links <= read.ids
    assert "gate<1>" in " ".join(read.words)
    assert "@import" not in text
    assert "url(" not in text
    assert text.count("class=bar ") == len(report.layers) == 3
    assert "x = anp.tanh(anp.dot(x, w))" not in "".join(read.words).split("Source")[0]
    assert "return anp.sum(x * anp.sign(p[" in "".join(read.words)
    report.to_html(tmp_path / "again.html")
    assert (tmp_path / "again.html").read_text() == text


def test_rich_prints_what_the_text_says():
    import autograd.numpy as anp
    import numpy as np

    report = surrogate.audit("autograd", lambda w: anp.sum(anp.sign(w) ** 2), np.ones(3))
    console = Console(file=StringIO(), width=200)
    console.print(report)
    printed = " ".join(console.file.getvalue().split())
    for line in str(report).splitlines():
        for part in re.split(r" {2,}", line.strip()):
            assert part in printed
    assert repr(report).startswith("<Report autograd: 0 of 1 inputs have a gradient")
