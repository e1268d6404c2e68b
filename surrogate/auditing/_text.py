"""A report for a terminal, plain and with colour."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from surrogate.auditing._finding import Finding
from surrogate.auditing._trace import Place

if TYPE_CHECKING:
    from surrogate.auditing._report import Report

#: How many unused sources, and sound lines, are named.
_NAMED = 6


class _Row(NamedTuple):
    """A finding as columns (severity, kind, op, place) and the lines below them."""

    finding: Finding
    cells: tuple[str, str, str, str]
    below: tuple[str, ...]


def text(report: Report) -> str:
    """The report as plain text."""
    rows = _rows(report)
    widths = _widths(rows)
    lines = [headline(report)]
    for row in rows:
        cells = "  ".join(cell.ljust(width) for cell, width in zip(row.cells, widths, strict=True))
        lines.append(f"  {cells}  {row.finding.detail}")
        lines += [f"  {'':{_indent(widths)}}{line}" for line in row.below]
    return "\n".join([*lines, *(f"  {line}" for line in footnotes(report))])


def rich_lines(report: Report) -> Iterator[Any]:
    """The same for rich."""
    from rich.padding import Padding
    from rich.syntax import Syntax
    from rich.text import Text

    colours = {"error": "bold red", "warning": "yellow", "info": "dim"}
    yield Text(headline(report), style="bold")
    for row in _rows(report):
        severity, kind, op, where = row.cells
        line = Text("  ")
        line.append(severity.ljust(8), style=colours[severity])
        line.append(f"{kind}  {op}  ", style="bold")
        line.append(where, style="cyan")
        yield line
        yield Padding(Text(row.finding.detail), (0, 0, 0, 10))
        code, *rest = row.below if row.finding.where.code() else ("", *row.below)
        if code:
            yield Padding(Syntax(code, "python", background_color="default"), (0, 0, 0, 10))
        for one in rest:
            yield Padding(Text(one, style="green"), (0, 0, 0, 10))
    for note in footnotes(report):
        yield Text(f"  {note}", style="dim")


def headline(report: Report) -> str:
    """``torch: 2 of 5 parameters have a gradient, 24 ops, 3 findings (1 more at info)``."""
    shown = len(report.shown())
    more = len(report.findings) - shown
    noun = "inputs" if all(name.startswith("arg") for name in report.gradients) else "parameters"
    hidden = f" ({more} more at {_hidden(report)})" if more else ""
    under = f" under {_mapping(report.rules)}" if report.rules else ""
    return (
        f"{report.backend}{under}: {report.reached} of {report.sources} {noun} have a gradient, "
        f"{report.ops} ops, {_count(shown, 'finding')}{hidden}"
    )


def footnotes(report: Report) -> list[str]:
    """What is said below the findings."""
    unused = [name for name, why in report.unreached.items() if why == "unused"]
    lines = [f"never enters the loss: {_some(unused)}"] if unused else []
    lines += [f"note: {note}" for note in report.notes]
    if report.ignored:
        lines.append(f"{_count(report.ignored, 'finding')} declared sound")
    return lines


def remedy(report: Report, finding: Finding) -> list[str]:
    """What to do, and whether it was tried; then what else it would change."""
    if finding.rule is None:
        return [f"-> {finding.suggestion}"] if finding.suggestion else []
    call = f'-> surrogate.override("{report.backend}", {_mapping(dict([finding.rule]))})'
    lines = [call + _verified(finding)]
    if finding.also:
        places = _some([f"{shorter(place)}" for place in finding.also])
        lines.append(f"   this also changes a sound use at {places}: keep that outside the override")
    return lines


def _verified(finding: Finding) -> str:
    if finding.verified is None:
        return ""
    if not finding.reaches:
        return "   verified"
    if len(finding.verified) < len(finding.reaches):
        return f"   verified: reaches {_some(list(finding.verified))}"
    words = {1: "it", 2: "both"}
    return f"   verified: reaches {words.get(len(finding.reaches), f'all {len(finding.reaches)}')}"


def shorter(place: Place) -> str:
    """``net.py:31 in forward``; relative to the working directory where the file is below it."""
    path, here = Path(place.file), Path.cwd()
    name = path.relative_to(here) if path.is_relative_to(here) else path.name
    return f"{name}:{place.line} in {place.function}"


def _rows(report: Report) -> list[_Row]:
    return [_row(report, finding) for finding in report.shown()]


def _row(report: Report, finding: Finding) -> _Row:
    code = finding.where.code()
    op = finding.op if finding.count == 1 else f"{finding.op} x{finding.count}"
    below = (*([code] if code else []), *remedy(report, finding))
    return _Row(finding, (finding.severity, finding.kind, op, shorter(finding.where)), below)


def _widths(rows: list[_Row]) -> list[int]:
    return [max((len(row.cells[column]) for row in rows), default=0) for column in range(4)]


def _indent(widths: list[int]) -> int:
    """Below a finding, lines begin under its place."""
    return sum(widths[:3]) + 6


def _hidden(report: Report) -> str:
    return "info" if report.level == "warning" else "lower levels"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _mapping(rules: Mapping[str, str]) -> str:
    return "{" + ", ".join(f'"{op}": "{spec}"' for op, spec in rules.items()) + "}"
