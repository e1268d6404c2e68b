"""The bounds on what the backends cost: they find a cost of another order, and none is about nothing."""

import importlib.util
import json
import math
import re
import tomllib

import pytest


@pytest.fixture(scope="module")
def gates(root):
    spec = importlib.util.spec_from_file_location("gates", root / "benchmarks" / "gates.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ROWS = [
    {"case": "small sign", "what": "/ native", "ratio": 2.0},
    {"case": "small sign", "what": "/ native", "ratio": 2.5},  # of another size, which is no text
]


def test_numbers_have_the_words_on_the_way_to_them(gates):
    found = {"jax": "0.10", "call / native": 1.5, "rows": ROWS, "of": {"all": 1}}
    assert list(gates.numbers(found)) == [
        ("call / native", 1.5),
        ("rows: small sign: / native: ratio", 2.0),
        ("rows: small sign: / native: ratio", 2.5),
        ("of: all", 1.0),
    ]


def test_what_is_within_its_bound_is_not_named(gates):
    assert gates.check(ROWS, {"small *: ratio": 2.5}) == []


def test_every_row_that_a_pattern_names_is_compared(gates):
    [found] = gates.check(ROWS, {"small *: ratio": 2.2})
    assert found == "small sign: / native: ratio is 2.5, which is not at most 2.2"


def test_a_number_that_is_none_is_out_of_bounds(gates):
    assert len(gates.check({"call": math.nan}, {"call": 2.0})) == 1


def test_a_bound_about_nothing_is_an_error(gates):
    assert gates.check(ROWS, {"large *": 2.0}) == ["no number is named 'large *'"]


@pytest.mark.parametrize(("ratio", "code"), [(1.5, 0), (30.0, 1)])
def test_the_command_fails_where_a_bound_is_broken(gates, tmp_path, capsys, ratio, code):
    (tmp_path / "core.json").write_text(json.dumps({"import_ratio": ratio}))
    assert gates.main([f"core={tmp_path / 'core.json'}"]) == code
    assert capsys.readouterr().out.startswith(f"core: 1 bounds, {code} broken")


@pytest.mark.parametrize("arguments", [["unknown=core.json"], ["core"]])
def test_the_command_says_what_it_takes(gates, arguments):
    with pytest.raises(SystemExit, match="is not NAME=FILE with a NAME of core, autograd, jax"):
        gates.main(arguments)


def test_the_scheduled_environment_measures_what_has_bounds(root):
    bounded = set(tomllib.loads((root / "benchmarks" / "gates.toml").read_text()))
    environment = (root / "tox.ini").read_text().partition("[testenv:ratios]")[2].partition("[testenv:")[0]
    assert set(re.findall(r"bench_(\w+)\.py .*--json \1\.json", environment)) == bounded
    assert set(re.findall(r"(\w+)=\1\.json", environment)) == bounded
    assert "ratios" in (root / ".github" / "workflows" / "nightly.yml").read_text()
