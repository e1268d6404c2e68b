"""docs/libraries.md: which functions of image libraries are differentiable, and what mends the others.

    python docs/library_tables.py kornia     # audits what is installed: docs/_data/libraries/kornia.json
    python docs/library_tables.py page       # writes the page from the data

A library that the audit needs beside a framework is installed without its dependencies
(``pip install --no-deps kornia kornia_rs``), so that the framework stays as it is.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import os
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import surrogate

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
DATA = HERE / "_data" / "libraries"
LIBRARIES = ("kornia", "torchvision", "keras", "dm_pix")

LOST = ("cut", "zero")


def table(library: str, only: str = "") -> dict[str, Any]:
    """Every case of a library, audited."""
    samples = importlib.import_module(f"library_samples.of_{library}")
    rows, left_out = [], {}
    for case in samples.cases():
        name, why = (case.name, "") if not isinstance(case, tuple) else case
        if only and not name.startswith(only):
            continue
        if not why:
            try:
                rows.append({"name": name} | audited(samples, case))
                continue
            except Exception as error:  # the library's own: it does the same without an audit
                why = f"raises {type(error).__name__}: {error}".split("\n")[0].partition(". ")[0][:140]
        left_out[name] = why
    return {
        "library": library,
        "version": samples.VERSION,
        "backend": samples.BACKEND,
        "rows": rows,
        "left_out": left_out,
    }


def audited(samples: Any, case: Any) -> dict[str, Any]:
    """What the audit says of one function, and what its suggestion restores."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with getattr(samples, "inside", contextlib.nullcontext)():
            report = audit(samples.BACKEND, case)
            rules = report.suggest()
            after = report.verify() if rules else report
    found = [f for f in report.findings if f.at_least("warning")]
    lost = [f for f in found if f.kind in LOST]
    row = {
        "by": dict(zip(case.sources, before := states(report), strict=True)),
        "lost": [line(samples, f) for f in lost],
        "other": [[f.kind, f.op, where(samples, f)] for f in found if f.kind not in LOST],
    }
    if rules:
        row["rules"] = rules
        row["restored"] = {
            name: f"{size:.3g}"
            for name, size, old, new in zip(
                case.sources, after.gradients.values(), before, states(after), strict=True
            )
            if old != "yes" and new == "yes"
        }
    return row


def audit(backend: str, case: Any) -> Any:
    """Ask by every array that the function takes."""
    if backend == "jax":
        return surrogate.audit(
            "jax", case.run, *case.sources.values(), argnums=tuple(range(len(case.sources)))
        )
    if backend == "tensorflow":
        return surrogate.audit(
            "tensorflow", case.run, *case.sources.values(), wrt=list(case.sources.values())
        )
    leaves = {name: x.clone().requires_grad_() for name, x in case.sources.items()}
    return surrogate.audit(backend, case.run, *leaves.values(), wrt=leaves)


def states(report: Any) -> list[str]:
    """``yes``, ``cut``, ``zero``, ``unused`` or ``NaN``, by argument: does a gradient reach it?"""
    return [
        report.unreached.get(name) or ("NaN" if math.isnan(size or 0) else "yes" if size else "zero")
        for name, size in report.gradients.items()
    ]


def line(samples: Any, finding: Any) -> dict[str, Any]:
    """One place at which a gradient is lost."""
    return {
        "kind": finding.kind,
        "op": finding.op,
        "where": where(samples, finding),
        "severity": finding.severity,
        "rule": "=".join(finding.rule) if finding.rule else "",
        "otherwise": "" if finding.rule else finding.suggestion,
    }


def where(samples: Any, finding: Any) -> str:
    """File and line, from the folder of the library on."""
    file = finding.where.file
    inside = file.startswith(samples.FOLDER)
    return f"{os.path.relpath(file, samples.FOLDER) if inside else Path(file).name}:{finding.where.line}"


# -- the page --------------------------------------------------------------------------------------

PAGE = HERE / "libraries.md"

HEAD = """\
# Image libraries, audited

Which functions of four libraries pass a gradient to each array that they take, which op at which line ends
it in the others, and what an override gives back. The functions are not changed: `surrogate.audit` ran each
one on a small sample (random, in the range that the function documents) and tried what it suggested. A number
behind an override is the norm of the gradient that arrives under it; before it was zero or there was none.

*no gradient*: an argument gets none. *a term*: every argument gets one, but part of the result has none, as
the edges of `canny`. Written by `docs/library_tables.py`; a test compares page and data.
"""

_INTRODUCTIONS = {
    "kornia": "The modules `color`, `enhance`, `filters`, `geometry` and `augmentation`.",
    "torchvision": "The image kernels of `transforms.v2.functional`.",
    "keras": "The preprocessing layers of `keras.layers`, in training mode, under TensorFlow. A layer "
    "calls its ops itself, and an override takes calls of the user's only; so it mends none of them.",
    "dm_pix": "All functions.",
}


def page() -> str:
    """The page's text, from the data."""
    parts = [HEAD]
    for library in LIBRARIES:
        parts += section(json.loads((DATA / f"{library}.json").read_text(encoding="utf-8")))
    return "\n".join(parts) + "\n"


def section(data: Mapping[str, Any]) -> list[str]:
    """One library: those that lose something as a table, the others by name."""
    rows = data["rows"]
    lossy = [row for row in rows if row["lost"]]
    clean = [row["name"] for row in rows if not row["lost"] and set(row["by"].values()) == {"yes"}]
    constant = [row["name"] for row in rows if not row["lost"] and row["name"] not in clean]
    lines = [
        f"## {data['library']} {data['version']}",
        "",
        f"{_INTRODUCTIONS[data['library']]} {len(rows)} audited; {len(clean)} pass a gradient to every "
        f"array, {len(lossy)} lose one.",
        "",
        "| function | what is lost | op, and its line | what gives it back |",
        "| --- | --- | --- | --- |",
        *(_row(row) for row in lossy),
        "",
    ]
    warned = [f"`{row['name']}` ({kind} at `{place}`)" for row in rows for kind, _, place in row["other"]]
    if warned:
        lines += ["Other findings: " + ", ".join(warned) + ".", ""]
    if constant:
        lines += ["Results that do not depend on an argument: " + _names(constant) + ".", ""]
    lines += ["```{admonition} Differentiable", ":class: note dropdown", "", _names(clean), "```", ""]
    if data["left_out"]:
        left = "; ".join(f"`{name}` {why}" for name, why in data["left_out"].items())
        lines += [f"Not audited: {left}.", ""]
    return lines


def _names(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _row(row: Mapping[str, Any]) -> str:
    without = [name for name, found in row["by"].items() if found != "yes"]
    lost = "no gradient by " + _names(without) if without else "a term"
    places = [f"`{one['op']}` at `{one['where']}`" for one in row["lost"]]
    shown = places[:_SHOWN] + ([f"{len(places) - _SHOWN} more"] if len(places) > _SHOWN else [])
    return f"| `{row['name']}` | {lost} | {', '.join(shown)} | {_mended(row)} |"


#: How many places a row names.
_SHOWN = 3


def _mended(row: Mapping[str, Any]) -> str:
    if "rules" not in row:
        words = [
            one["otherwise"]
            for one in row["lost"]
            if one["otherwise"] and "was tried" not in one["otherwise"]
        ]
        return words[0] if words else "no override"
    rules = ", ".join(f"`{op}={spec}`" for op, spec in row["rules"].items())
    norms = ", ".join(f"`{name}` {norm}" for name, norm in row["restored"].items())
    return f"{rules}: {norms}" if norms else rules


if __name__ == "__main__":
    which, *only = sys.argv[1:]
    if which == "page":
        PAGE.write_text(page(), encoding="utf-8")
    else:
        got = table(which, *only)
        DATA.mkdir(parents=True, exist_ok=True)
        (DATA / f"{which}.json").write_text(json.dumps(got, indent=1) + "\n", encoding="utf-8")
        print(len(got["rows"]), "audited", len(got["left_out"]), "left out")
