"""Running a program for its report, and trying what the report suggests."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from surrogate._backend import Backend
from surrogate._errors import NothingCapturedWarning
from surrogate._override import active, defaults, override
from surrogate.auditing._finding import Finding, merged
from surrogate.auditing._judge import Options, judge
from surrogate.auditing._remedies import DISCRETE
from surrogate.auditing._report import Report
from surrogate.auditing._scaled import with_scaled_inputs


@dataclass(frozen=True)
class Program:
    """What is audited, and how."""

    backend: Backend
    fn: Callable[..., Any]
    args: Sequence[Any]
    loss: Callable[..., Any] | None
    wrt: Any
    argnums: int | Sequence[int]
    light: bool
    options: Options

    def report(self) -> Report:
        """Run once under what is in force, and judge.

        An error of the program propagates; its attribute ``report`` is what was found before.
        """
        try:
            trace = self._record(self.args)
        except Exception as error:
            before = getattr(error, "surrogate_trace", None)
            if before is not None:
                error.report = self._judged(before)  # type: ignore[attr-defined]
            raise
        report = self._judged(trace)
        if "scale" in self.options.probes:
            report = with_scaled_inputs(self, report)
        return dataclasses.replace(report, _again=self.under)

    def under(self, rules: Mapping[str, str]) -> Report:
        """The report under an override."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NothingCapturedWarning)
            with override(self.backend, rules):
                return self.report()

    def scaled(self, args: Sequence[Any]) -> Report:
        """The report with other arguments."""
        return self._judged(self._record(args))

    def _record(self, args: Sequence[Any]) -> Any:
        return self.backend.record(
            self.fn, args, loss=self.loss, wrt=self.wrt, argnums=self.argnums, light=self.light
        )

    def _judged(self, trace: Any) -> Report:
        return judge(trace, specs(self.backend), self.options, in_force(self.backend))


def in_force(backend: str | Backend) -> dict[str, str]:
    """The rules in force, as op -> spec."""
    return {op: gradient.spec for op, gradient in active(backend).items()}


def specs(backend: Backend) -> dict[str, str]:
    """What is suggested for every op that the backend captures."""
    found = {op: gradient.spec for op, gradient in defaults(backend).items()}
    return found | {op: spec for op, spec in DISCRETE.items() if op in backend.ops}


#: How many ops may lie behind one another on one path, each seen only when the one before is mended.
_DEEP = 4


def tried(report: Report) -> Report:
    """The report with its suggestions tried: those that do not help are no longer offered.

    Behind an op that is mended there may be another one that loses the gradient again. It is added.
    """
    rules, behind = report.suggest(), list[Finding]()
    if not rules or report._again is None:
        return report
    try:
        for _ in range(_DEEP):
            after = report._again(rules)
            new = [f for f in after.findings if f.rule and f.at_least("warning") and f.rule[0] not in rules]
            if not new:
                break
            behind += new
            rules |= dict(f.rule for f in new if f.rule)
    except Exception as error:
        note = f"the suggestions could not be tried: {type(error).__name__}: {error}"
        return dataclasses.replace(report, notes=(*report.notes, note))
    found = merged([*report.findings, *behind])
    return dataclasses.replace(report, findings=tuple(_tried(f, after) if f.rule else f for f in found))


def _tried(finding: Finding, after: Report) -> Finding:
    """One finding with what its rule brought."""
    gained = tuple(name for name in finding.reaches if after.gradients.get(name))
    gone = not any(
        (f.op, f.where) == (finding.op, finding.where) and f.at_least("warning") for f in after.findings
    )
    if gained or (gone and not finding.reaches):
        return dataclasses.replace(finding, verified=gained)
    if not finding.at_least("warning"):
        return finding
    op, spec = finding.rule or ("", "")
    words = f"{op}={spec} was tried and alone does not help"
    return dataclasses.replace(finding, rule=None, suggestion=words)
