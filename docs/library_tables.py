"""docs/libraries.md: which functions of image libraries are differentiable, what cuts the others, and what mends them.

    python docs/library_tables.py kornia     # audits the installed library, writes docs/_data/libraries/kornia.json
    python docs/library_tables.py page       # writes the page from the data

A library that the audit needs beside a framework is installed without its dependencies
(``pip install --no-deps kornia kornia_rs``), so that the framework stays as it is.
"""

from __future__ import annotations

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
            except Exception as error:
                why = f"{type(error).__name__}: {error}".split("\n")[0][:120]
        left_out[name] = why
    return {"library": library, "version": samples.VERSION, "backend": samples.BACKEND, "rows": rows, "left_out": left_out}


def audited(samples: Any, case: Any) -> dict[str, Any]:
    """What the audit says of one function, and what its suggestion restores."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = audit(samples.BACKEND, case)
        rules = report.suggest()
        after = report.verify() if rules else report
    found = [f for f in report.findings if f.at_least("warning")]
    lost = [f for f in found if f.kind in LOST]
    row = {
        "by": {name: state(report, name) for name in case.sources},
        "lost": [line(samples, f) for f in lost],
        "other": [[f.kind, f.op, where(samples, f)] for f in found if f.kind not in LOST],
    }
    if rules:
        row["rules"] = rules
        row["restored"] = {
            name: f"{after.gradients[name]:.3g}"
            for name in case.sources
            if state(report, name) != "yes" and state(after, name) == "yes"
        }
    return row


def audit(backend: str, case: Any) -> Any:
    """Ask by every array that the function takes."""
    if backend == "jax":
        return surrogate.audit("jax", case.run, *case.sources.values(), argnums=tuple(range(len(case.sources))))
    if backend == "tensorflow":
        return surrogate.audit("tensorflow", case.run, *case.sources.values(), wrt=list(case.sources.values()))
    leaves = {name: x.clone().requires_grad_() for name, x in case.sources.items()}
    return surrogate.audit(backend, case.run, *leaves.values(), wrt=leaves)


def state(report: Any, name: str) -> str:
    """``yes``, ``cut``, ``zero`` or ``unused``: does a gradient reach this argument?"""
    names = list(report.gradients)
    name = name if name in names else names[_position(report, name)]
    if name in report.unreached:
        return str(report.unreached[name])
    size = report.gradients[name]
    return "yes" if size and not math.isnan(size) else "NaN" if size else "zero"


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
    return f"{os.path.relpath(file, samples.FOLDER) if file.startswith(samples.FOLDER) else Path(file).name}:{finding.where.line}"


if __name__ == "__main__":
    which, *only = sys.argv[1:]
    got = table(which, *only)
    DATA.mkdir(parents=True, exist_ok=True)
    (DATA / f"{which}.json").write_text(json.dumps(got, indent=1, sort_keys=False) + "\n")
    print(len(got["rows"]), "audited", len(got["left_out"]), "left out")
