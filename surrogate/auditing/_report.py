"""What an audit found."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surrogate._errors import SpecError, UnsupportedAuditError
from surrogate.auditing._finding import Finding
from surrogate.auditing._layers import Layer

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA = 1


@dataclass(frozen=True, repr=False)
class Report:
    """What an audit found in one run of a program: one step, one batch.

    Attributes:
        backend: name of the backend.
        findings: the worst first, of every severity.
        sources: how many arrays the loss was differentiated by.
        reached: how many of them a gradient reaches.
        unreached: name -> ``"cut"``, or ``"unused"`` where no path joins it to the loss.
        gradients: name of the source -> norm of its gradient; None where it got none.
        layers: the matrix products and convolutions in forward order, with their numbers.
        ops: how many calls of ops were seen.
        level: the severity from which on findings are printed.
        rules: the override that was in force: op -> spec.
        notes: what to know of this run.
        ignored: how many findings were left out because they were declared sound.
    """

    backend: str
    findings: tuple[Finding, ...]
    sources: int
    reached: int
    unreached: Mapping[str, str]
    gradients: Mapping[str, float | None]
    layers: tuple[Layer, ...]
    ops: int
    level: str = "warning"
    rules: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    ignored: int = 0
    _again: Callable[[Mapping[str, str]], Report] | None = field(default=None, compare=False)

    def suggest(self) -> dict[str, str]:
        """The overrides that mend what was found, as :func:`surrogate.override` takes them: op -> spec."""
        return dict(f.rule for f in self.findings if f.rule is not None and f.at_least("warning"))

    def verify(self) -> Report:
        """Audit the program again under ``surrogate.override(backend, report.suggest())``.

        Returns:
            The report of that run: what is still unreached, what findings are left.

        Raises:
            UnsupportedAuditError: there is no program to run: the report was read from JSON, or is of a
                script's gradient.
        """
        if self._again is None:
            raise UnsupportedAuditError(
                "this report has no program to run again: it was read from JSON, or is of a script."
            )
        return self._again(self.suggest())

    def ok(self, *kinds: str) -> bool:
        """Whether there is no finding of these kinds (none given: of any kind) at warning or above."""
        return not any(f.at_least("warning") for f in self.findings if not kinds or f.kind in kinds)

    def shown(self) -> tuple[Finding, ...]:
        """The findings at the report's level or above."""
        return tuple(f for f in self.findings if f.at_least(self.level))

    def to_json(self) -> dict[str, Any]:
        """Plain data for ``json.dump``; NaN and infinity as the texts ``"nan"``, ``"inf"`` and ``"-inf"``."""
        data: dict[str, Any] = {
            "schema": SCHEMA,
            "backend": self.backend,
            "sources": self.sources,
            "reached": self.reached,
            "unreached": dict(self.unreached),
            "gradients": dict(self.gradients),
            "ops": self.ops,
            "level": self.level,
            "rules": dict(self.rules),
            "notes": list(self.notes),
            "ignored": self.ignored,
            "findings": [finding.to_json() for finding in self.findings],
            "layers": [layer.to_json() for layer in self.layers],
            "suggest": self.suggest(),
        }
        return {key: _with_texts(value) for key, value in data.items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Report:
        """What :meth:`to_json` was made of; such a report cannot be verified.

        Raises:
            SpecError: the data are of another schema.
        """
        if data.get("schema") != SCHEMA:
            raise SpecError(f"a report of schema {SCHEMA} is needed, not {data.get('schema')!r}.")
        given = {k: v for k, v in _with_numbers(data).items() if k not in ("schema", "suggest")}
        given["findings"] = tuple(Finding.from_json(one) for one in given["findings"])
        given["layers"] = tuple(Layer.from_json(one) for one in given["layers"])
        return cls(**{**given, "notes": tuple(given["notes"])})

    def to_html(self, path: str | Path) -> None:
        """Write one page that needs nothing else: findings, layers, and the source with marks beside it."""
        from surrogate.auditing._html import page

        Path(path).write_text(page(self), encoding="utf-8")

    def __repr__(self) -> str:
        from surrogate.auditing._text import headline

        return f"<Report {headline(self)}>"

    def __str__(self) -> str:
        from surrogate.auditing._text import text

        return text(self)

    def _repr_html_(self) -> str:
        from surrogate.auditing._fragment import fragment

        return fragment(self)

    def __rich_console__(self, console: Any, options: Any) -> Any:
        from surrogate.auditing._text import rich_lines

        yield from rich_lines(self)


_TEXTS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def _with_texts(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _with_texts(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_with_texts(value) for value in data]
    return str(data) if isinstance(data, float) and not math.isfinite(data) else data


#: Where a report has numbers that may not be finite.
_NUMBERS = ("gradients", "cotangent", "gradient", "weight", "saturated", "dead")


def _with_numbers(data: Mapping[str, Any]) -> dict[str, Any]:
    def read(value: Any) -> Any:
        return _TEXTS.get(value, value) if isinstance(value, str) else value

    found = dict(data)
    found["gradients"] = {name: read(value) for name, value in data["gradients"].items()}
    found["layers"] = [{k: read(v) if k in _NUMBERS else v for k, v in one.items()} for one in data["layers"]]
    return found
