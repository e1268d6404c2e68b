"""The matrix op x backend x mode, with the failing numbers and how backends agree: text, JSON, HTML."""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from surrogate._listing import op as op_of, ops
from surrogate._plugins import load_backend
from surrogate.testing._agreement import Agreement, agreements
from surrogate.testing._conformance import targets
from surrogate.testing._modes import FORWARD, REVERSE, SECOND
from surrogate.testing._report import Report, Result, report

#: What the JSON looks like; raised when it changes.
FORMAT = 1
#: Where checks that belong to no op, or no mode, stand.
ANY = "(any)"
MARKS = {
    "passed": "ok",
    "failed": "FAIL",
    "expected": "known",
    "not claimed": "-",
    "unsupported": "no",
    "nothing": ".",
}


def matrix(reports: Iterable[Report], agreeing: Iterable[Agreement] = ()) -> dict[str, Any]:
    """Plain data of several reports.

    Keys: ``format``, ``date``, ``python``, ``numpy``, ``platform``; ``backends``: name -> versions,
    claims, counts, ``ok``; ``ops`` and ``modes`` in reading order; ``cells``: one per op, backend and
    mode, with counts, ``failures`` with their numbers, and ``status``: ``passed``, ``failed``,
    ``expected``, ``not claimed``, ``unsupported`` (the backend refuses the op) or ``nothing``;
    ``agreement``: one per op, mode and pair of backends.
    """
    given = list(reports)
    modes = _modes(given)
    return {
        "format": FORMAT,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "platform": f"{platform.system()} {platform.machine()}",
        "backends": {one.backend: _summary(one) for one in given},
        "ops": [*ops(), ANY],
        "modes": modes,
        "cells": [
            _cell(one, op, mode, [r for r in one.results if (r.op or ANY) == op and _mode(r) == mode])
            for op in (*ops(), ANY)
            for mode in modes
            for one in given
        ],
        "agreement": [one.to_json() for one in agreeing],
    }


def from_run(found: Mapping[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """The matrix of a pytest run: results by backend; with agreement where it ran in this process."""
    reports = []
    here = targets()
    for name, rows in found.items():
        results = [Result(**row) for row in rows]
        backend = here[name].backend if name in here else load_backend(name)
        reports.append(report(backend, results, sum(one.seconds for one in results)))
    return matrix(reports, agreements({name: here[name] for name in found if name in here}))


def as_text(data: Mapping[str, Any]) -> str:
    """For a terminal: one table per backend, ops down, modes across."""
    lines = []
    for name, about in data["backends"].items():
        counts = ", ".join(f"{n} {what}" for what, n in about["counts"].items() if n)
        lines.append(f"{name} ({about['framework']} {about['version']}): {counts}")
        if about["not_claimed"]:
            lines.append(f"  not claimed, not checked: {', '.join(about['not_claimed'])}")
        cells = {(c["op"], c["mode"]): c for c in data["cells"] if c["backend"] == name}
        shown = [m for m in data["modes"] if any(c["checks"] for (_, mode), c in cells.items() if mode == m)]
        lines += [f"  {_letter(number)} = {mode}" for number, mode in enumerate(shown)]
        lines.append("  " + " " * 14 + "".join(f"{_letter(n):>7}" for n in range(len(shown))))
        for op in data["ops"]:
            row = [cells[op, mode] for mode in shown]
            if any(cell["checks"] for cell in row):
                lines.append(f"  {op:<14}" + "".join(f"{MARKS[cell['status']]:>7}" for cell in row))
    for one in data["agreement"]:
        if not one["ok"]:
            lines.append(
                f"{' and '.join(one['backends'])} disagree on {one['op']} in mode {one['mode']}: "
                f"{one['wrong']} of {one['compared']} numbers, by up to {one['worst']:.3g} ulp"
            )
    return "\n".join(lines) + "\n"


def write(data: Mapping[str, Any], file: str | Path) -> None:
    """Write the matrix: one self-contained HTML page if the name ends in ``.html``, else JSON."""
    path = Path(file)
    html = path.suffix in (".html", ".htm")
    path.write_text(as_html(data) if html else json.dumps(data, indent=1) + "\n", encoding="utf-8")


def as_html(data: Mapping[str, Any]) -> str:
    """One page that needs nothing else: click a cell for the failing numbers."""
    page = Path(__file__).with_name("matrix.html").read_text(encoding="utf-8")
    text = json.dumps(data).replace("<", "\\u003c")  # so that no text ends the script
    return page.replace("/*DATA*/null", text)


def _letter(number: int) -> str:
    return chr(ord("a") + number)


def _mode(one: Result) -> str:
    return one.mode or one.promise


def _modes(reports: Iterable[Report]) -> list[str]:
    """The modes in reading order; checks without one stand under their promise."""
    known = [mode.name for mode in (*REVERSE, *FORWARD, *SECOND)]
    seen = dict.fromkeys(_mode(one) for report in reports for one in report.results)
    return [*(name for name in dict.fromkeys(known) if name in seen), *(n for n in seen if n not in known)]


def _summary(one: Report) -> dict[str, Any]:
    return {
        "framework": one.framework,
        "version": one.version,
        "tested": one.tested,
        "claims": one.claims,
        "not_claimed": one.not_claimed,
        "unsupported": one.unsupported,
        "counts": one.counts,
        "seconds": one.seconds,
        "ok": one.ok,
    }


def _cell(one: Report, op: str, mode: str, results: list[Result]) -> dict[str, Any]:
    counts = Counter(result.outcome for result in results)
    return {
        "op": op,
        "backend": one.backend,
        "mode": mode,
        "status": _status(one, op, mode, counts),
        "checks": len(results),
        "counts": dict(counts),
        "failures": [
            {
                "id": result.id,
                "outcome": result.outcome,
                "reason": result.reason,
                "message": result.message,
                "wrong": result.wrong,
                "checked": result.checked,
                "numbers": result.numbers,
            }
            for result in results
            if result.outcome not in ("passed", "not applicable")
        ],
    }


def _status(one: Report, op: str, mode: str, counts: Mapping[Any, int]) -> str:
    if not set(counts) - {"not applicable"}:
        needs = {m.name: m.needs for m in (*REVERSE, *FORWARD, *SECOND)}.get(mode, frozenset())
        if op != ANY and op_of(op).output != "float":
            needs |= {"discrete"}
        return "nothing" if needs <= set(one.claims) else "not claimed"
    if counts.get("failed") or counts.get("unexpected pass"):
        return "failed"
    if mode == "unsupported":
        return "unsupported"  # and use() says so: that is what was checked
    return "expected" if counts.get("expected failure") else "passed"
