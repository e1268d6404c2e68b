"""``surrogate.audit`` and its report, on a backend that hands over traces written by hand."""

import json
import math
from html import escape

import core_toy
import pytest
from core_traces import Program, span

import surrogate
from surrogate.auditing import Finding, Place, Report


class Recording(core_toy.Toy):
    """Hands over a trace; under an override of round, round has a derivative."""

    def __init__(self, line=3, file="net.py", helps=True):
        super().__init__("recording")
        self.line, self.file, self.helps, self.runs = line, file, helps, []

    def record(self, fn, args, *, loss=None, wrt=None, argnums=0, light=False):
        self.runs.append({"args": args, "light": light, "rules": self.here})
        under = "round" in self.here and self.helps
        p = Program("w", "v", "old")
        call = p.call("round", "w", "h", zero_in=frozenset() if under else frozenset({0}), line=self.line)
        call.place = Place(self.file, self.line, "forward")
        call.rule = "round:identity" if under else ""
        p.call("mm", "v", "e", g_out=span(0, 0.25), path="net.l1")
        p.call("tanh", "e", "t", steep=0.125)
        p.call("add", "h t", "loss")
        fn(*args)
        trace = p.trace("loss", w=2.0 if under else None, v=1.5)
        trace.backend = self.name
        return trace


@pytest.fixture
def recording():
    return Recording()


def run(recording, **options):
    return surrogate.audit(recording, lambda *args: None, 1.0, **options)


def test_a_report_says_what_is_reached_and_what_mends_the_rest(recording):
    report = run(recording)
    assert (report.sources, report.reached) == (3, 1)
    assert report.unreached == {"w": "cut", "old": "unused"}
    assert report.gradients == {"w": None, "v": 1.5, "old": None}
    assert report.suggest() == {"round": "identity"}
    assert report.findings[0].verified == ("w",)
    assert [run["rules"] for run in recording.runs] == [{}, {"round": "identity"}]


def test_verify_audits_again_under_the_override(recording):
    after = run(recording).verify()
    assert after.unreached == {"old": "unused"}
    assert after.rules == {"round": "identity"}
    assert after.ok()


def test_a_rule_that_does_not_help_is_not_offered():
    report = run(Recording(helps=False))
    assert report.suggest() == {}
    assert "was tried" in report.findings[0].suggestion


def test_suggestions_that_cannot_be_tried_are_offered_unverified(recording):
    def fn(x):
        if recording.here:
            raise ValueError("no second run")

    report = surrogate.audit(recording, fn, 1.0)
    assert report.suggest() == {"round": "identity"}
    assert report.findings[0].verified is None
    assert "ValueError: no second run" in report.notes[0]


def test_ok_is_about_warnings_and_errors_of_the_kinds_asked_for(recording):
    report = run(recording)
    assert not report.ok()
    assert not report.ok("cut", "zero")
    assert report.ok("cut", "nonfinite")


def test_only_the_kinds_asked_for(recording):
    assert run(recording, kinds=["cut"]).findings == ()
    assert [f.kind for f in run(recording, kinds="zero").findings] == ["zero"]


def test_what_is_ignored_is_counted(recording):
    report = run(recording, ignore=[("zero", "net.py:3")])
    assert (report.findings, report.ignored) == ((), 1)
    assert "1 finding declared sound" in str(report)
    for other in [("cut", "net.py:3"), ("zero", "net.py:4"), ("zero", "t.py:3")]:
        assert len(run(recording, ignore=[other]).findings) == 1


def test_a_comment_on_the_line_declares_it_sound(tmp_path):
    file = tmp_path / "net.py"
    file.write_text("\n\nh = round(x)  # surrogate: sound\n")
    assert run(Recording(file=str(file))).findings == ()
    assert run(Recording(file=str(file), line=2)).findings != ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kinds": ["cuts"]}, "did you mean 'cut'"),
        ({"level": "warn"}, "did you mean 'warning'"),
        ({"probes": ["half"]}, "unknown probe 'half'"),
        ({"keep": "lite"}, "unknown keep 'lite'"),
        ({"ignore": [("cut", "net.py")]}, "a place like 'file.py:42'"),
        ({"ignore": ["net.py:3"]}, "pairs like"),
        ({"ignore": [("cuts", "net.py:3")]}, "did you mean 'cut'"),
    ],
)
def test_a_wrong_option_is_told_before_anything_runs(recording, options, message):
    with pytest.raises(surrogate.SpecError, match=message):
        run(recording, **options)
    assert recording.runs == []


def test_what_is_no_function_is_refused(recording):
    with pytest.raises(surrogate.SpecError, match="runs a function or a model"):
        surrogate.audit(recording, 3.0)


def test_a_backend_without_a_recorder_cannot_be_audited(toy):
    with pytest.raises(surrogate.UnsupportedAuditError, match="no method 'record'"):
        surrogate.audit(toy, lambda: 0.0)


def test_light_is_passed_on(recording):
    run(recording, keep="light")
    assert recording.runs[0]["light"] is True


def test_the_text(recording):
    assert str(run(recording)).splitlines() == [
        "recording: 1 of 3 parameters have a gradient, 4 ops, 1 finding",
        "  error  zero  round  net.py:3 in forward  its derivative is zero everywhere; no gradient reaches w",
        '                      -> surrogate.override("recording", {"round": "identity"})'
        "   verified: reaches it",
        "  never enters the loss: old",
    ]


def test_the_level_decides_what_is_printed_and_not_what_is_found(recording):
    recording.helps = False
    report = run(recording, level="error")
    assert report.shown() == report.findings


def test_a_report_goes_through_json_and_back(recording):
    report = run(recording)
    text = json.dumps(report.to_json(), allow_nan=False)
    back = Report.from_json(json.loads(text))
    assert back == report
    assert json.dumps(back.to_json()) == text
    assert str(back) == str(report)
    assert json.loads(text)["schema"] == 1
    with pytest.raises(surrogate.UnsupportedAuditError, match="no program to run again"):
        back.verify()


def test_json_keeps_what_is_not_finite(recording):
    import dataclasses

    report = dataclasses.replace(run(recording), gradients={"a": math.inf, "b": -math.inf, "c": None})
    assert Report.from_json(json.loads(json.dumps(report.to_json(), allow_nan=False))) == report


def test_another_schema_is_refused(recording):
    with pytest.raises(surrogate.SpecError, match="schema 1 is needed, not 2"):
        Report.from_json({**run(recording).to_json(), "schema": 2})


def test_a_finding_goes_through_json_and_back():
    place = Place("net.py", 3, "forward")
    f = Finding(
        "zero", "round", place, "error", "d", 2, "s", ("round", "identity"), ("w",), "p", ("w",), (place,)
    )
    assert Finding.from_json(json.loads(json.dumps(f.to_json()))) == f


def test_layers_have_their_numbers(recording):
    (layer,) = run(recording).layers
    assert (layer.name, layer.cotangent, layer.gradient, layer.weight) == ("net.l1", 0.25, 1.5, 1.0)
    assert (layer.saturated, layer.dead) == (0.125, None)


def test_the_probe_of_scale_runs_with_inputs_of_another_size():
    import numpy as np

    class Scaled(Recording):
        def record(self, fn, args, **options):
            p = Program("w")
            hot = float(np.max(args[0])) >= 100
            p.call("exp", "w", "loss", span=span(0, 1, inf=3 if hot else 0))
            self.runs.append(args)
            return p.trace("loss", w=1.0)

    backend = Scaled()
    assert surrogate.audit(backend, lambda x: x, np.ones(3, np.float32)).findings == ()
    (f,) = surrogate.audit(backend, lambda x: x, np.ones(3, np.float32), probes=["scale"]).findings
    assert (f.kind, f.op, f.severity) == ("nonfinite", "exp", "warning")
    assert "with inputs times 100" in f.detail
    assert [float(args[0][0]) for args in backend.runs[1:]] == [1.0, 0.0, 100.0]


def test_in_a_notebook_it_is_a_table(recording):
    report = run(recording)
    html = report._repr_html_()
    assert html.count("<tr style") == len(report.findings) > 0
    for finding in report.findings:
        assert f"<code>{escape(finding.op)}</code>" in html
        assert escape(finding.detail) in html
    assert "<style" not in html
    assert "<script" not in html
