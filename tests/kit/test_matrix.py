"""The matrix: cells, agreement between backends, text, JSON and a self-contained page."""

import json
import re

import numpy as np
import pytest
from toy import tape
from toy.backend import Toy

from surrogate.testing import Target, agreements, as_html, as_text, check_backend, matrix, write


class Second(Toy):
    """The same arithmetic under another name; no vmap."""

    name = "second"
    transforms = frozenset({"forward"})


class Apart(Toy):
    """Three to six ulp off in one float formula."""

    name = "apart"
    transforms = frozenset()

    def vjp(self, rule, saved, g, needs):
        found = super().vjp(rule, saved, g, needs)
        if rule.id != "sign:tanh(slope=1.0)":
            return found
        return [np.asarray(tape.unbox(c)) * (1 + 3 * np.finfo(c.dtype).eps).astype(c.dtype) for c in found]


@pytest.fixture(scope="module")
def data():
    backends = [Toy(), Second(), Apart()]
    targets = {backend.name: Target(backend) for backend in backends}
    reports = [
        check_backend(backend, ops=["sign"], promises=["vjp", "jvp"], target=targets[backend.name])
        for backend in backends
    ]
    return matrix(reports, agreements(targets))


def cell(data, backend, mode, op="sign"):
    return next(c for c in data["cells"] if (c["op"], c["backend"], c["mode"]) == (op, backend, mode))


def test_cell_of_what_passed(data):
    assert cell(data, "toy", "eager")["status"] == "passed"
    assert cell(data, "toy", "eager")["checks"] > 40


def test_cell_of_what_is_not_claimed_is_not_passed(data):
    assert cell(data, "second", "vmap")["status"] == "not claimed"
    assert cell(data, "second", "forward")["status"] == "passed"


def test_cell_of_an_unsupported_op_is_not_passed():
    backend = Second()
    backend.ops = Second.ops - {"relu6"}
    found = matrix([check_backend(backend, promises=["unsupported"])])
    assert cell(found, "second", "unsupported", "relu6")["status"] == "unsupported"


def test_backends_of_one_arithmetic_agree_to_the_last_bit(data):
    found = [a for a in data["agreement"] if a["backends"] == ["second", "toy"]]
    assert {a["mode"] for a in found} == {"eager", "forward"}
    assert all(a["ok"] and a["equal"] == a["compared"] > 1000 for a in found)


def test_backends_apart_disagree_with_their_numbers(data):
    (found,) = [a for a in data["agreement"] if a["backends"] == ["apart", "toy"]]
    assert not found["ok"]
    assert 2 < found["worst"] <= 6
    assert {row["gradient"] for row in found["numbers"]} == {"tanh"}


def test_versions_and_date_are_in_it(data):
    assert data["backends"]["toy"]["version"] == np.__version__
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", data["date"])


def test_json_round_trip(data, tmp_path):
    write(data, tmp_path / "m.json")
    assert json.loads((tmp_path / "m.json").read_text()) == json.loads(json.dumps(data))


def test_html_is_self_contained(data, tmp_path):
    write(data, tmp_path / "m.html")
    page = (tmp_path / "m.html").read_text()
    assert not re.search(r"""(src|href)\s*=|url\(|@import|fetch\(""", page)
    (embedded,) = re.findall(r"^const data = (.*);$", page, re.MULTILINE)
    assert json.loads(embedded) == json.loads(json.dumps(data))


def test_html_survives_text_that_looks_like_markup(data):
    page = as_html({**data, "platform": "</script><b>"})
    assert page.count("</script>") == 1


def test_text_has_a_row_per_op_and_names_the_modes(data):
    text = as_text(data)
    assert re.search(r"^  sign +ok", text, re.MULTILINE)
    assert "not claimed, not checked: vmap, compile, second, residuals, learned, discrete" in text
    assert "apart and toy disagree on sign in mode eager" in text
