"""A report as one page that needs nothing else: no script, no font, no picture from elsewhere."""

from __future__ import annotations

import html
import linecache
import math
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from surrogate.auditing._finding import NAMED, SEVERITIES, Finding, rank
from surrogate.auditing._layers import Layer
from surrogate.auditing._text import footnotes, headline, remedy, shorter

if TYPE_CHECKING:
    from surrogate.auditing._report import Report

#: Lines shown above and below a marked one.
_AROUND = 3


def page(report: Report) -> str:
    """The page."""
    style = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
    parts = [_findings(report), _layers(report), _sources(report)]
    notes = "".join(f"<li>{_text(note)}</li>" for note in footnotes(report))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_text(report.backend)}: gradient audit</title><style>\n{style}</style></head><body><main>"
        f"<h1>Gradient audit</h1><p class=headline>{_text(headline(report))}</p>"
        f"{f'<ul class=notes>{notes}</ul>' if notes else ''}{''.join(parts)}</main></body></html>\n"
    )


def _text(words: object) -> str:
    return html.escape(str(words))


def _anchor(file: str, line: int) -> str:
    return f"L{crc32(file.encode()):08x}-{line}"


# -- findings ------------------------------------------------------------------------------------


def _findings(report: Report) -> str:
    if not report.findings:
        return "<section><h2>Findings</h2><p>None.</p></section>"
    cards = "".join(_card(report, finding) for finding in report.findings)
    return f"<section><h2>Findings</h2>{cards}</section>"


def _card(report: Report, finding: Finding) -> str:
    place = finding.where
    times = f" &times;{finding.count}" if finding.count > 1 else ""
    costs = ""
    if len(finding.reaches) > NAMED:  # the detail does not name them all
        names = ", ".join(f"<code>{_text(name)}</code>" for name in finding.reaches)
        costs = f"<p class=costs>costs {names}</p>"
    remedies = "".join(f"<p class=remedy>{_text(line)}</p>" for line in remedy(report, finding))
    return (
        f'<article class="{finding.severity}"><h3><span class=severity>{finding.severity}</span> '
        f"<b>{finding.kind}</b> <code>{_text(finding.op)}</code>{times} "
        f'<a href="#{_anchor(place.file, place.line)}">{_text(shorter(place))}</a></h3>'
        f"<pre>{_text(place.code())}</pre><p>{_text(finding.detail)}</p>{costs}{remedies}</article>"
    )


# -- layers --------------------------------------------------------------------------------------


def _layers(report: Report) -> str:
    sizes = [layer.cotangent for layer in report.layers if _has_size(layer.cotangent)]
    if not sizes:
        return ""
    low, high = math.floor(min(map(_log, sizes))), math.ceil(max(map(_log, sizes)))
    low -= low == high
    heads = f"<th>layer</th><th class=where>where</th><th>{_axis(low, high)}</th>" + "".join(
        f"<th class=number>{name}</th>" for name in _COLUMNS
    )
    rows = "".join(_row(layer, low, high) for layer in report.layers)
    return (
        "<section><h2>Layers</h2><p>The largest magnitude of the gradient at each layer's output, in forward "
        "order, on a log axis. One step, one batch.</p><div class=wide><table>"
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div></section>"
    )


_COLUMNS = ("gradient", "weight", "saturated", "dead")


def _axis(low: int, high: int) -> str:
    return f"<span class=axis><span>1e{low}</span><span>1e{high}</span></span>"


def _row(layer: Layer, low: int, high: int) -> str:
    share = 0.0
    if _has_size(layer.cotangent):
        share = (_log(layer.cotangent) - low) / (high - low)
    bar = f'<span class=bar style="--share:{max(share, 0.005):.3f}"></span>{_number(layer.cotangent)}'
    values = (_number(layer.gradient), _number(layer.weight), _share(layer.saturated), _share(layer.dead))
    cells = "".join(f"<td class=number>{value}</td>" for value in values)
    return (
        f"<tr><td><code>{_text(layer.name)}</code></td><td class=where>{_text(shorter(layer.where))}</td>"
        f"<td class=bars>{bar}</td>{cells}</tr>"
    )


def _has_size(size: float | None) -> bool:
    return size is not None and 0 < size < math.inf


def _log(size: float | None) -> float:
    return math.log10(size or 1.0)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1e}"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}"


# -- source --------------------------------------------------------------------------------------


def _sources(report: Report) -> str:
    by_file: defaultdict[str, dict[int, list[Finding]]] = defaultdict(dict)
    for finding in report.findings:
        by_file[finding.where.file].setdefault(finding.where.line, []).append(finding)
    listings = "".join(_listing(file, marked) for file, marked in by_file.items() if linecache.getlines(file))
    return f"<section><h2>Source</h2>{listings}</section>" if listings else ""


def _listing(file: str, marked: dict[int, list[Finding]]) -> str:
    lines = linecache.getlines(file)
    rows, before = [], 0
    for number in _shown(marked, len(lines)):
        if before and number > before + 1:
            rows.append("<tr class=gap><td colspan=3></td></tr>")
        before = number
        rows.append(_line(file, number, lines[number - 1], marked.get(number, [])))
    table = f"<table class=source>{''.join(rows)}</table>"
    return f"<h3><code>{_text(file)}</code></h3><div class=wide>{table}</div>"


def _shown(marked: dict[int, list[Finding]], length: int) -> Iterator[int]:
    wanted = {n for line in marked for n in range(line - _AROUND, line + _AROUND + 1)}
    return iter(sorted(n for n in wanted if 1 <= n <= length))


def _line(file: str, number: int, code: str, findings: list[Finding]) -> str:
    cells = f"<td class=lineno>{number}</td><td><pre>{_text(code.rstrip())}</pre></td>"
    if not findings:
        return f"<tr><td></td>{cells}</tr>"
    worst = SEVERITIES[min(rank(finding.severity) for finding in findings)]
    marks = ", ".join(f"{finding.kind} {finding.op}" for finding in findings)
    details = _text("; ".join(finding.detail for finding in findings))
    return (
        f'<tr class="{worst}" id="{_anchor(file, number)}">'
        f'<td class=mark title="{details}">{_text(marks)}</td>{cells}</tr>'
    )
