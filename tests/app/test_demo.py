"""The main job: natively nothing is learnt, under an override the same code learns."""

import json
from pathlib import Path

import pytest

import surrogate
from surrogate.demo import models
from surrogate.demo.digits import make_task
from surrogate.demo.runner import available

EPOCHS = 30


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """One whole run: what it printed, and the picture."""
    from click.testing import CliRunner

    from surrogate.cli import cli

    picture = tmp_path_factory.mktemp("demo") / "picture.png"
    result = CliRunner().invoke(cli, ["demo", "--json", "--output", str(picture)])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout), picture


def test_natively_it_stays_where_an_untrained_network_is(full):
    native = full[0]["native"]
    assert native["accuracies"] == [native["untrained"]] * (EPOCHS + 1)
    assert native["reached"] == 0.0
    assert native["accuracy"] < 0.2


def test_under_an_override_it_learns(full):
    trained = full[0]["surrogate"]
    assert trained["untrained"] == full[0]["native"]["untrained"]
    assert trained["accuracy"] > 0.9
    assert trained["reached"] == 1.0
    assert len(trained["accuracies"]) == EPOCHS + 1


def test_the_json_has_these_fields(full):
    report, picture = full
    training = {"accuracy": float, "untrained": float, "accuracies": list, "reached": float, "seconds": float}
    shape = {
        "backend": str,
        "framework": {"name": str, "version": str},
        "epochs": int,
        "seed": int,
        "compiled": bool,
        "rules": {"sign": str, "round": str},
        "hits": {"sign": int, "round": int},
        "native": training,
        "surrogate": training,
        "picture": str,
    }
    audit = report["audit"]
    assert _types({name: value for name, value in report.items() if name != "audit"}) == shape
    assert (audit["sources"], audit["reached"]) == (5, 0)
    assert audit["suggest"].keys() == {"sign", "round"}
    assert report["backend"] == "autograd"
    assert report["rules"] == {"sign": "hardtanh(width=1.0)", "round": "identity"}
    assert report["picture"] == str(picture)


def _types(value):
    if isinstance(value, dict):
        return {key: _types(inner) for key, inner in value.items()}
    return type(value)


def test_the_picture_is_a_png_of_readable_size(full):
    data = full[1].read_bytes()
    assert data.startswith(b"\x89PNG\r\n")
    assert int.from_bytes(data[16:20]) >= 1200


def test_each_capture_is_counted(full):
    steps = EPOCHS * make_task(epochs=EPOCHS, seed=0).steps
    assert full[0]["hits"] == {"sign": 4 * steps, "round": steps}


def test_a_run_leaves_nothing_in_force(full):
    assert dict(surrogate.active("autograd")) == {}


def test_the_table_and_the_default_picture(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("demo", "--epochs", "1", "--rules", "sign=tanh(slope=2)")
    assert result.exit_code == 0, result.output
    for text in (
        "0 of 5 parameters have a gradient",
        "autograd_model.py",
        "test accuracy",
        "weights that got",
        "native",
        "sign:tanh(slope=2.0), round:identity",
    ):
        assert text in result.stdout
    assert (tmp_path / "surrogate-demo.png").is_file()


def test_a_rule_for_an_op_that_the_network_does_not_have_is_told(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("demo", "--epochs", "1", "--rules", "floor=identity", "--rules", "mod=exact")
    assert "The network has no floor, mod: what was asked for it changed nothing." in result.stdout


def test_json_draws_nothing_unless_asked(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("demo", "--json", "--epochs", "1")
    assert json.loads(result.stdout)["picture"] is None
    assert list(tmp_path.iterdir()) == []


def test_all_native_is_the_native_training(run):
    result = run("demo", "--json", "--epochs", "1", "--rules", "sign=native", "--rules", "round=native")
    report = json.loads(result.stdout)
    assert report["rules"] == {}
    assert report["surrogate"]["accuracies"] == report["native"]["accuracies"]


def test_one_seed_gives_one_result(run):
    def accuracies(seed):
        result = run("demo", "--json", "--epochs", "2", "--seed", seed)
        return json.loads(result.stdout)["surrogate"]["accuracies"]

    assert accuracies(7) == accuracies(7)
    assert accuracies(7) != accuracies(8)


def test_the_split_keeps_the_share_of_every_digit():
    task = make_task(epochs=1, seed=0)
    assert len(task.x_train) + len(task.x_test) == 1797
    for digit in range(10):
        shares = [(y == digit).mean() for y in (task.y_train, task.y_test)]
        assert shares[0] == pytest.approx(shares[1], abs=0.005)


@pytest.mark.parametrize("name", available())
def test_a_model_file_does_not_know_of_us(name):
    path = Path(models.__path__[0]) / f"{name}_model.py"
    text = path.read_text().lower()
    assert "def train(task" in text
    assert "surrogate" not in text
    assert "override" not in text
