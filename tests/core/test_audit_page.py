"""The page of a report: everything that was found, escaped, beside the source; nothing from elsewhere."""

import html
import re

import core_toy
import pytest
from core_traces import Program, span

import surrogate
from surrogate.auditing import Place

SOURCE = """\
import nothing


def forward(w):
    v = w < 1 and "<b>&amp;</b>"
    h = round(w)
    return h @ v
"""


class Recording(core_toy.Toy):
    def __init__(self, file, finds=True):
        super().__init__("recording")
        self.file, self.finds = file, finds

    def record(self, fn, args, *, loss=None, wrt=None, argnums=0, light=False):
        p = Program("w", "v", "<old>")
        blocked = frozenset({0}) if self.finds and "round" not in self.here else frozenset()
        call = p.call("round", "w", "h", zero_in=blocked)
        call.place = Place(self.file, 6, "forward")
        p.call("mm", "v", "e", g_out=span(0, 0.25), path="net.l1")
        p.call("mm", "e", "f", g_out=span(0, 0.0025), path="net.<l2>")
        p.call("add", "h f", "loss")
        trace = p.trace("loss", w=None if blocked else 1.0, v=1.5)
        trace.backend = self.name
        return trace


@pytest.fixture
def page(tmp_path):
    (tmp_path / "net.py").write_text(SOURCE)
    report = surrogate.audit(Recording(str(tmp_path / "net.py")), lambda: None)
    report.to_html(tmp_path / "report.html")
    return report, (tmp_path / "report.html").read_text()


def test_it_needs_nothing_else(page):
    _, text = page
    assert text.startswith("<!doctype html>")
    assert not re.search(r"<script|<link|<img|@import|url\(|https?:", text)


def test_every_finding_has_a_card_that_leads_to_its_line(page):
    report, text = page
    cards = re.findall(r'<article class="(\w+)">(.*?)</article>', text, re.DOTALL)
    assert [severity for severity, _ in cards] == [finding.severity for finding in report.findings]
    [(_, card)] = [one for one in cards if "round" in one[1]]
    assert "<pre>h = round(w)</pre>" in card
    assert "verified: reaches it" in card
    [anchor] = re.findall(r'href="#(L\w+-6)"', card)
    assert f'id="{anchor}"' in text


def test_the_source_is_shown_around_the_marked_line_and_escaped(page):
    _, text = page
    listing = text.partition("<h2>Source</h2>")[2]
    numbers = [int(n) for n in re.findall(r"<td class=lineno>(\d+)</td>", listing)]
    assert numbers == [3, 4, 5, 6, 7]
    assert html.escape('v = w < 1 and "<b>&amp;</b>"') in listing


def test_layers_have_bars_on_a_log_axis(page):
    _, text = page
    # log10 of 0.25 and 0.0025, from 1e-3 to 1e0
    assert re.findall(r"--share:([\d.]+)", text) == ["0.799", "0.133"]
    assert "<code>net.&lt;l2&gt;</code>" in text
    assert "<span>1e-3</span><span>1e0</span>" in text


def test_what_is_found_nowhere_is_said(tmp_path):
    report = surrogate.audit(Recording("no such file", finds=False), lambda: None)
    report.to_html(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "<h2>Findings</h2><p>None.</p>" in text
    assert "<h2>Source</h2>" not in text
