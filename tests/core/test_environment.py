"""Rules from outside of a program: texts, files, and being told when a framework is imported."""

import importlib
import sys

import core_toy
import pytest

import surrogate
from surrogate import _environment, _plugins
from surrogate._arrival import when_imported

FILE = 'within = ["mynet"]\n[rules]\nsign = "hardtanh"\n'


def test_assignments_are_read_with_comparisons_among_them():
    text = "sign = tanh(slope=2) ; round=identity; >=:=x"
    assert _environment.read_text("sign=tanh(slope=2); round=identity;") == (
        {"sign": "tanh(slope=2)", "round": "identity"},
        {},
    )
    assert _environment.read_assignments([">= = arctan"]) == {">=": "arctan"}
    assert _environment.read_text(text)[0]["sign"] == "tanh(slope=2)"


@pytest.mark.parametrize(
    ("text", "message"),
    [("sign", "is not of the form op=gradient"), ("sign=tanh;sign=arctan", "'sign' is given twice")],
)
def test_what_is_no_assignment_is_told(text, message):
    with pytest.raises(surrogate.SpecError, match=message):
        _environment.read_text(text)


def test_a_file_has_rules_and_places(tmp_path):
    (tmp_path / "rules.toml").write_text(FILE)
    found = _environment.read_text(f" {tmp_path / 'rules.toml'} ")
    assert found == ({"sign": "hardtanh"}, {"within": ["mynet"]})


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (None, "cannot read the rules"),
        ("[rules", "cannot read the rules"),
        ("other = 1", "is no file of rules"),
        ("[rules]\nsign = 1", "is no file of rules"),
    ],
)
def test_what_is_no_such_file_is_told(tmp_path, written, message):
    path = tmp_path / "rules.toml"
    if written is not None:
        path.write_text(written)
    with pytest.raises(surrogate.SpecError, match=message):
        _environment.read_file(path)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """The name of a module that can be imported and was not."""
    (tmp_path / "a_framework.py").write_text("half = not __spec__.loader; whole = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "a_framework", raising=False)
    importlib.invalidate_caches()
    yield "a_framework"
    sys.modules.pop("a_framework", None)


def test_an_import_is_told_before_who_wants_it_sees_it(module):
    told = []
    with when_imported([module, "another"], lambda name: told.append((name, sys.modules[name].whole))):
        importlib.import_module(module)
        importlib.import_module(module)
    assert told == [(module, True)]
    assert type(sys.modules[module].__loader__).__module__.startswith("_frozen_importlib")


def test_what_is_imported_already_arrives_at_once(module):
    importlib.import_module(module)
    told = []
    with when_imported([module], told.append):
        assert told == [module]


def test_afterwards_nobody_is_told(module):
    told, before = [], list(sys.meta_path)
    with when_imported([module], told.append):
        pass
    importlib.import_module(module)
    assert (told, sys.meta_path) == ([], before)


def test_rules_come_into_force_when_the_framework_is_imported(module, monkeypatch):
    toy, put = core_toy.Toy(module), []
    monkeypatch.setitem(_plugins._loaded, module, toy)
    with _environment.follow_imports([module], {"sign": "tanh"}, {}, put.append, print):
        assert toy.here == {}
        importlib.import_module(module)
        assert toy.here == {"sign": "tanh(slope=1.0)"}
        toy.hit("sign")
    put[0].undo()
    assert toy.here == {}


def test_a_backend_that_cannot_is_told_and_stops_nothing(module, monkeypatch):
    monkeypatch.setitem(_plugins._loaded, module, core_toy.Toy(module, ops=["sign"]))
    refused = []
    with _environment.follow_imports(
        [module], {"round": "identity"}, {}, print, lambda *why: refused.append(why)
    ):
        importlib.import_module(module)
    [(name, error)] = refused
    assert name == module
    assert isinstance(error, surrogate.UnsupportedOpError)


def test_the_process_says_what_it_obeys(module, monkeypatch, capsys):
    monkeypatch.setitem(_plugins._loaded, module, core_toy.Toy(module, ops=["sign"]))
    monkeypatch.setattr(_environment, "backends", lambda: [module])
    monkeypatch.setattr(_environment, "_watching", [])
    monkeypatch.setenv("SURROGATE_RULES", "round=identity")
    _environment.obey()
    importlib.import_module(module)
    _environment._watching[0].close()
    first, second = capsys.readouterr().err.splitlines()
    assert first == "surrogate: SURROGATE_RULES=round=identity: in force in each framework that is imported"
    assert second.startswith(f"surrogate: SURROGATE_RULES is not in force in {module}: ")
