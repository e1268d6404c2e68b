"""What an editor completes and a notebook shows."""

import re
import subprocess
import sys
from html import escape

import pytest

import surrogate


def test_dir_has_the_public_names_and_no_others():
    names = dir(surrogate)
    assert set(names) == {*surrogate.__all__, "__version__", "plot", "testing"}
    assert [name for name in names if name.startswith("_") and name != "__version__"] == []


@pytest.mark.parametrize(
    ("op", "spec"), [("sign", "hardtanh"), ("mod", "sine"), ("relu", "guided"), ("round", "identity")]
)
def test_a_gradient_in_a_notebook_has_its_name_its_doc_and_its_curve(op, spec):
    gradient = surrogate.gradient(op, spec)
    html = gradient._repr_html_()
    assert f"<b>{gradient.id}</b>" in html
    assert escape(gradient.doc.partition("\n")[0]) in html
    assert html.count("<svg") == 1
    assert "<script" not in html
    assert "http" not in html.replace(gradient.doc, "")


def test_the_curve_has_the_values_of_the_reference():
    html = surrogate.gradient("sign", "hardtanh")._repr_html_()
    drawn = re.findall(r'stroke="(.*?)".*?points="(.*?)"', html)
    derivative = [piece for color, piece in drawn if color != "#999"]
    heights = [{point.split(",")[1] for point in piece.split()} for piece in derivative]
    zero, one = "55.0", "8.0"  # sign reaches from -1 to 1: 0 is in the middle of the drawing
    assert heights == [{zero}, {one}, {zero}]


def test_what_a_docstring_says_is_no_markup():
    def tagged(xp, x):
        """<b>bold</b>"""
        return 1.0

    html = surrogate.gradient("sign", tagged)._repr_html_()
    assert "&lt;b&gt;bold&lt;/b&gt;" in html


def test_notebook_support_costs_nothing_at_import():
    code = "import surrogate, sys; print('surrogate._gradient_html' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"


@pytest.mark.filterwarnings("ignore::surrogate.SurrogateWarning")
def test_an_override_in_a_notebook_has_its_rules_its_hits_and_its_place(toy):
    with surrogate.override(toy, {"sign": "hardtanh", "round": "native"}, trace=True) as o:
        pass
    html = o._repr_html_()
    assert "<td><code>sign</code></td><td><code>hardtanh(width=1.0)</code></td>" in html
    assert "<td><code>native</code></td>" in html
    assert f"title='{escape(__file__)}:" in html
    assert ">test_display.py:" in html


def test_an_override_that_caught_shows_how_often(toy):
    with surrogate.override(toy, {"sign": "hardtanh"}) as o:
        toy.hit("sign")
        toy.hit("sign")
    assert "<td style='text-align:right'>2</td>" in o._repr_html_()
