"""The probe ``"scale"``: does the program survive inputs that are zero, or a hundred times as large?"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from surrogate.auditing._finding import merged
from surrogate.auditing._report import Report

if TYPE_CHECKING:
    from surrogate.auditing._audit import Program

FACTORS = (0.0, 100.0)

#: What a change of scale can bring about.
_KINDS = ("nonfinite", "exploding")


def with_scaled_inputs(program: Program, report: Report) -> Report:
    """The report, with what goes wrong with its inputs times 0 and times 100 as warnings."""
    known = {(finding.kind, finding.op, finding.where) for finding in report.findings}
    found = list(report.findings)
    for factor in FACTORS:
        for finding in program.scaled(_scaled(program, factor)).findings:
            key = finding.kind, finding.op, finding.where
            if finding.kind in _KINDS and key not in known:
                known.add(key)
                detail = f"with inputs times {factor:g}: {finding.detail}"
                found.append(dataclasses.replace(finding, severity="warning", detail=detail))
    return dataclasses.replace(report, findings=merged(found))


def _scaled(program: Program, factor: float) -> Sequence[Any]:
    """The arguments with every float array scaled, but for what is differentiated by."""
    argnums = {program.argnums} if isinstance(program.argnums, int) else set(program.argnums)
    return [
        arg if number in argnums and len(program.args) > 1 else _times(program, arg, factor)
        for number, arg in enumerate(program.args)
    ]


def _times(program: Program, x: Any, factor: float) -> Any:
    if isinstance(x, (tuple, list)) and type(x) in (tuple, list):
        return type(x)(_times(program, one, factor) for one in x)
    if isinstance(x, dict):
        return {key: _times(program, one, factor) for key, one in x.items()}
    if not hasattr(x, "dtype") or not hasattr(x, "shape") or getattr(x, "requires_grad", False):
        return x
    array = program.backend.driver().numpy(x)
    if not np.issubdtype(array.dtype, np.floating):
        return x
    return program.backend.driver().asarray((array * factor).astype(array.dtype))
