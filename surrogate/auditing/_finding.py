"""One finding, and how findings of one line become one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from surrogate.auditing._trace import Call, Place

Kind = Literal[
    "cut", "zero", "nonfinite", "vanishing", "exploding", "unstable", "precision", "dead", "saturated"
]
Severity = Literal["error", "warning", "info"]

KINDS: tuple[Kind, ...] = get_args(Kind)

#: The worst first.
SEVERITIES: tuple[Severity, ...] = get_args(Severity)


@dataclass(frozen=True)
class Finding:
    """What is wrong with the gradient at one op of one line.

    Attributes:
        kind: ``cut``, ``zero``, ``nonfinite``, ``vanishing``, ``exploding``, ``unstable``, ``precision``,
            ``dead`` or ``saturated``.
        op: the op's canonical name, the same in every framework (``round``, ``gt``, ``detach``).
        where: file, line and function of the user's.
        severity: ``error``, ``warning`` or ``info``.
        detail: what is wrong and what it does, in words.
        count: how many calls of that line it stands for.
        suggestion: what mends it, in words; empty if nothing is known.
        rule: what mends it as an override: op and spec; None if no override does.
        reaches: the sources that it costs their gradient.
        path: the module, layer or loop.
        verified: of ``reaches``, what a gradient reaches under ``rule``; None where that was not tried.
        also: lines of other calls of this op, sound ones, whose right gradient ``rule`` would change.
    """

    kind: Kind
    op: str
    where: Place
    severity: Severity
    detail: str
    count: int = 1
    suggestion: str = ""
    rule: tuple[str, str] | None = None
    reaches: tuple[str, ...] = ()
    path: str = ""
    verified: tuple[str, ...] | None = None
    also: tuple[Place, ...] = ()

    def at_least(self, level: str) -> bool:
        """Whether it is as bad as ``level``, or worse."""
        return rank(self.severity) <= rank(level)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        data = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        lists = {name: None if data[name] is None else list(data[name]) for name in _TUPLES}
        return data | lists | {"also": [list(place) for place in self.also]}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Finding:
        """What :meth:`to_json` was made of."""
        tuples = {name: None if data[name] is None else tuple(data[name]) for name in _TUPLES}
        places = {"where": Place(*data["where"]), "also": tuple(Place(*place) for place in data["also"])}
        return cls(**{**data, **tuples, **places})


_TUPLES = ("where", "rule", "reaches", "verified")


def rank(severity: str) -> int:
    """0 for the worst."""
    return SEVERITIES.index(severity)


def at(call: Call, kind: Kind, severity: Severity, detail: str, suggestion: str = "") -> Finding:
    """A finding at a call."""
    return Finding(kind, call.name, call.place, severity, detail, suggestion=suggestion, path=call.path)


#: How many sources a message names.
NAMED = 4


def effect(costs: tuple[str, ...]) -> str:
    """What it does to its sources, as the end of a message."""
    if not costs:
        return ""
    more = f" and {len(costs) - NAMED} more" if len(costs) > NAMED else ""
    return f"; no gradient reaches {', '.join(costs[:NAMED])}{more}"


def merged(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings of one kind, op and line as one, the worst first.

    What has failed already need not be said to be able to fail: ``nonfinite`` replaces ``unstable``.
    """
    one: dict[tuple[str, str, Place], Finding] = {}
    for finding in found:
        key = finding.kind, finding.op, finding.where
        if key in one:
            old = one[key]
            worse = min(old, finding, key=lambda each: rank(each.severity))
            costs = tuple(sorted({*old.reaches, *finding.reaches}))
            detail = worse.detail
            if worse.reaches:
                detail = detail.replace(effect(worse.reaches), effect(costs))
            count = old.count + finding.count
            finding = dataclasses.replace(worse, count=count, reaches=costs, detail=detail)
        one[key] = finding
    kept = [f for (kind, *at), f in one.items() if kind != "unstable" or ("nonfinite", *at) not in one]
    return tuple(sorted(kept, key=lambda f: (rank(f.severity), f.where.file, f.where.line, f.kind, f.op)))
