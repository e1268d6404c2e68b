"""A report as a notebook shows it: a table of the findings, without the page's style sheet."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from surrogate.auditing._text import footnotes, headline, remedy, shorter

if TYPE_CHECKING:
    from surrogate.auditing._report import Report

_COLUMNS = ("", "op", "where", "what", "remedy")


def fragment(report: Report) -> str:
    """Headline, one row for each finding, notes."""
    head = f"<p><b>{escape(headline(report))}</b></p>"
    heads = "".join(f"<th style='text-align:left'>{name}</th>" for name in _COLUMNS)
    rows = "".join(
        "<tr style='vertical-align:top'>"
        f"<td>{one.severity}: {one.kind}</td><td><code>{escape(one.op)}</code></td>"
        f"<td><code>{escape(shorter(one.where))}</code><br><code>{escape(one.where.code())}</code></td>"
        f"<td style='text-align:left'>{escape(one.detail)}</td>"
        f"<td style='text-align:left'>{'<br>'.join(map(escape, remedy(report, one)))}</td></tr>"
        for one in report.shown()
    )
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>" if rows else ""
    return head + table + "".join(f"<p>{escape(note)}</p>" for note in footnotes(report))
