"""Running checks without pytest, and what came of them as plain data."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from html import escape
from typing import Any, Literal

import surrogate
from surrogate._backend import Backend
from surrogate._framework import framework_version
from surrogate._plugins import load_backend
from surrogate._suggest import unknown
from surrogate.testing._conformance import PROMISES
from surrogate.testing._expected import declared, match
from surrogate.testing._failure import BrokenPromiseError, Inapplicable
from surrogate.testing._plan import CLAIMS, Check, not_claimed, plan
from surrogate.testing._target import Target

Outcome = Literal["passed", "failed", "expected failure", "unexpected pass", "not applicable"]
OUTCOMES: tuple[Outcome, ...] = ("passed", "failed", "expected failure", "unexpected pass", "not applicable")


@dataclass(frozen=True)
class Result:
    """What came of one check.

    Attributes:
        id: the check's id, ``vjp[sign:hardtanh-float32-jit]``.
        promise, op, gradient, dtype, mode: the same in parts; empty where it does not apply.
        outcome: ``"passed"``, ``"failed"``, ``"expected failure"`` or ``"unexpected pass"`` (an expected
            failure that did not fail: a failure too), or ``"not applicable"`` (the framework has no such
            thing, with or without us).
        reason: why the failure is expected.
        message: what was wrong.
        numbers: up to 12 rows of failing numbers.
        wrong, checked: how many numbers were wrong, of how many.
        seconds: how long it took.
    """

    id: str
    promise: str
    op: str
    gradient: str
    dtype: str
    mode: str
    outcome: Outcome
    reason: str = ""
    message: str = ""
    numbers: list[dict[str, str]] = field(default_factory=list)
    wrong: int = 0
    checked: int = 0
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether it is what was expected."""
        return self.outcome not in ("failed", "unexpected pass")


def result(
    check: Check, error: BaseException | None, reason: str | None = None, seconds: float = 0.0
) -> Result:
    """The result of a check that raised ``error``, or nothing."""
    outcome: Outcome = "passed" if error is None else "failed"
    if isinstance(error, Inapplicable):
        outcome = "not applicable"
    elif reason is not None:
        outcome = "unexpected pass" if error is None else "expected failure"
    made = Result(
        id=check.id,
        promise=check.promise,
        op=check.op,
        gradient=check.gradient,
        dtype=check.dtype,
        mode=check.mode,
        outcome=outcome,
        reason=reason or "",
        seconds=round(seconds, 4),
    )
    if isinstance(error, BrokenPromiseError):
        numbers = [dict(row) for row in error.numbers]
        return replace(made, message=error.message, numbers=numbers, wrong=error.wrong, checked=error.checked)
    return made if error is None else replace(made, message=f"{type(error).__name__}: {error}")


@dataclass(frozen=True)
class Report:
    """What one backend does and does not do.

    Attributes:
        backend, framework, version: which one, with the framework's version.
        tested: the versions its author checked.
        claims: what it claims beyond plain reverse mode.
        not_claimed: what it does not, so that nothing of it was checked.
        unsupported: op -> why it cannot do it.
        results: one per check, in order.
        seconds: how long all took.
        device: where the arrays lay; empty for the framework's default.
    """

    backend: str
    framework: str
    version: str
    tested: str
    claims: list[str]
    not_claimed: list[str]
    unsupported: dict[str, str]
    results: list[Result]
    seconds: float = 0.0
    device: str = ""

    @property
    def ok(self) -> bool:
        """Whether every check came out as expected; not if there was none."""
        return bool(self.results) and all(one.ok for one in self.results)

    @property
    def failures(self) -> list[Result]:
        """The results that are not as expected."""
        return [one for one in self.results if not one.ok]

    @property
    def counts(self) -> dict[str, int]:
        """How many checks came to each outcome."""
        found = Counter(one.outcome for one in self.results)
        return {outcome: found[outcome] for outcome in OUTCOMES}

    def matrix(self) -> dict[str, dict[str, dict[str, int]]]:
        """Op -> mode -> outcome -> how many. Checks that belong to no op stand under ``"(any)"``."""
        found: dict[str, dict[str, Counter[str]]] = {}
        for one in self.results:
            row = found.setdefault(one.op or "(any)", {})
            row.setdefault(one.mode or one.promise, Counter())[one.outcome] += 1
        return {op: {mode: dict(cell) for mode, cell in row.items()} for op, row in found.items()}

    def to_json(self, *, passed: bool = False) -> dict[str, Any]:
        """Plain data for ``json.dump``: everything but, unless ``passed``, the checks that passed."""
        data = asdict(self)
        data["results"] = [asdict(one) for one in self.results if passed or one.outcome != "passed"]
        return {**data, "ok": self.ok, "counts": self.counts, "matrix": self.matrix()}

    def __str__(self) -> str:
        """Counts, what is not claimed or known to fail, and every failure with its numbers."""
        counts = ", ".join(f"{n} {outcome}" for outcome, n in self.counts.items() if n)
        place = f" on {self.device}" if self.device else ""
        lines = [f"{self.backend} ({self.framework} {self.version}{place}): {counts or 'nothing checked'}"]
        lines += [f"  not claimed: {claim} ({CLAIMS[claim]})" for claim in self.not_claimed]
        lines += [f"  unsupported: {op}: {why}" for op, why in self.unsupported.items()]
        known = Counter(one.reason for one in self.results if one.outcome == "expected failure")
        lines += [f"  expected failure: {reason} ({n})" for reason, n in known.items()]
        for one in self.failures:
            lines.append(f"  {one.outcome}: {one.id}: {one.message or one.reason}")
            lines += ["    " + "  ".join(f"{k}={v}" for k, v in row.items()) for row in one.numbers]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The same in a notebook: checks by op and outcome, and the text of what failed below."""
        outcomes = [name for name, n in self.counts.items() if n]
        by_op: dict[str, Counter[str]] = {}
        for one in self.results:
            by_op.setdefault(one.op or "(any)", Counter())[one.outcome] += 1
        rows = "".join(
            f"<tr><td><code>{escape(op)}</code></td>"
            + "".join(f"<td style='text-align:right'>{found[name] or ''}</td>" for name in outcomes)
            + "</tr>"
            for op, found in by_op.items()
        )
        heads = "".join(f"<th>{name}</th>" for name in ("op", *outcomes))
        table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>" if rows else ""
        return f"<p><b>{'passed' if self.ok else 'not passed'}</b></p>{table}<pre>{escape(str(self))}</pre>"


def check_backend(
    backend: str | Backend,
    *,
    ops: Collection[str] | None = None,
    promises: Collection[str] | None = None,
    expected_failures: Mapping[str, str] | None = None,
    progress: Callable[[Check, int, int], None] | None = None,
    target: Target | None = None,
    device: str | None = None,
) -> Report:
    """Run the checks of a backend and report; needs no pytest.

    Args:
        backend: its name, or the :class:`surrogate.Backend` itself.
        ops: only checks of these ops (and of no op in particular); all if None.
        promises: only checks of these promises, such as ``"vjp"``; all if None.
        expected_failures: check id or glob -> why it is known to fail, beside those that the backend itself
            declares.
        progress: called before each check with it, its number from 0, and how many there are.
        target: keeps the numbers for comparing backends; made here if None.
        device: where the arrays lie, by the framework's name of it (``cuda``, ``gpu``); its default if None.

    Raises:
        UnknownBackendError, MissingFrameworkError, BrokenBackendError, IncompatibleFrameworkError:
            the backend cannot be had; says what to do.
        UnknownOpError, UnknownNameError: no op, no promise or no device has this name.
    """
    loaded = load_backend(backend)
    for op in ops or ():
        surrogate.op(op)
    for promise in promises or ():
        if promise not in PROMISES:
            raise surrogate.UnknownNameError(unknown("promise", promise, PROMISES))
    planned = plan(loaded)
    chosen = [
        check
        for check in planned
        if (ops is None or not check.op or check.op in ops)
        and (promises is None or check.promise in promises)
    ]
    reasons = match(declared(loaded, expected_failures or {}), planned, loaded.name)
    target = target or Target(loaded)
    begun, results = time.perf_counter(), []
    with nullcontext() if device is None else target.driver.on(device):
        for number, check in enumerate(chosen):
            if progress is not None:
                progress(check, number, len(chosen))
            results.append(_run(check, target, reasons.get(check.id)))
    return report(loaded, results, time.perf_counter() - begun, device or "")


def report(backend: Backend, results: Iterable[Result], seconds: float, device: str = "") -> Report:
    """A report of these results."""
    return Report(
        backend=backend.name,
        framework=backend.framework,
        version=framework_version(backend),
        tested=backend.tested,
        claims=sorted(backend.transforms),
        not_claimed=not_claimed(backend),
        unsupported=dict(backend.unsupported),
        results=list(results),
        seconds=round(seconds, 2),
        device=device,
    )


def _run(check: Check, target: Target, reason: str | None) -> Result:
    begun = time.perf_counter()
    error: Exception | None = None
    try:
        check(target)
    except Exception as raised:
        error = raised
    return result(check, error, reason, time.perf_counter() - begun)
