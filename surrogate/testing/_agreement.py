"""Whether backends agree with each other: bit for bit for masks and constants, to 2 ulp elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from surrogate.testing._cases import Case
from surrogate.testing._compare import forward_slack, slack, ulps
from surrogate.testing._dtypes import limits
from surrogate.testing._failure import SHOWN
from surrogate.testing._points import Grid
from surrogate.testing._run import Run, spread_grid, tangents
from surrogate.testing._target import Target

Array = npt.NDArray[Any]

#: By how many ulps two backends may differ in a float formula.
ULPS = 2


@dataclass
class Agreement:
    """How two backends compare in one op and mode, over all gradients and dtypes that both ran.

    Attributes:
        op, mode: where.
        backends: the two.
        compared, equal: numbers compared, and how many of them are equal to the last bit.
        worst: the largest distance in ulps of a float formula, beyond what one ulp of the inputs does.
        wrong: how many numbers differ by more than they may.
        numbers: up to 12 of these.
    """

    op: str
    mode: str
    backends: tuple[str, str]
    compared: int = 0
    equal: int = 0
    worst: float = 0.0
    wrong: int = 0
    numbers: list[dict[str, str]] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether they agree."""
        return not self.wrong

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "backends": list(self.backends), "ok": self.ok}


def agreements(targets: Mapping[str, Target]) -> list[Agreement]:
    """Compare, pair by pair, the numbers that the checks of several backends left behind."""
    found: dict[tuple[str, str, str, str], Agreement] = {}
    for one, other in combinations(sorted(targets), 2):
        for case, mode, a, b in _common(targets[one], targets[other]):
            key = case.op, mode, one, other
            agreement = found.setdefault(key, Agreement(case.op, mode, (one, other)))
            flushed = not (targets[one].backend.subnormals and targets[other].backend.subnormals)
            with np.errstate(all="ignore"):
                _compare(agreement, case, a, b, flushed)
    return list(found.values())


def _common(one: Target, other: Target) -> Iterator[tuple[Case, str, Run, Run]]:
    for key, a in one.kept.items():
        b = other.kept.get(key)
        if isinstance(a, Run) and isinstance(b, Run) and len(a.results) == len(b.results):
            case, _, mode = key
            yield case, mode, a, b


def _compare(agreement: Agreement, case: Case, a: Run, b: Run, flushed: bool) -> None:
    dtype, known = a.points.dtype, limits(a.points.dtype)
    reverse = a.results[0].shape == a.points.g.shape
    points = a.points if reverse else spread_grid(a.points)
    g = points.g.astype(np.float64)
    usable = np.isfinite(g)
    if flushed:
        usable &= np.all([(np.abs(x) >= known.tiny) | (x == 0) | np.isnan(x) for x in points.wide()], axis=0)
    exact = ulps(case, dtype) == 0
    if reverse:
        allowed = slack(case, points, np.where(usable, g, 1.0))
    else:
        allowed = [forward_slack(case, points, [t.astype(np.float64) for t in tangents(a.points)])]
    for i, (first, second) in enumerate(zip(a.results, b.results, strict=True)):
        if first.shape != second.shape or first.shape != usable.shape:
            continue
        x, y = first.astype(np.float64), second.astype(np.float64)
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        if flushed:
            same |= (np.abs(x) < known.tiny) & (np.abs(y) < known.tiny)
        finite = np.isfinite(x) & np.isfinite(y)
        difference = np.where(finite, np.abs(np.where(finite, x - y, 0.0)) - 2 * allowed[i], np.inf)
        apart = np.where(same, 0.0, np.maximum(difference, 0.0) / known.spacing(np.where(finite, x, 1.0)))
        wrong = usable & (apart > (0 if exact and (reverse or len(points.inputs) == 1) else ULPS))
        agreement.compared += int(usable.sum())
        agreement.equal += int((same & usable).sum())
        agreement.wrong += int(wrong.sum())
        agreement.worst = max(agreement.worst, float(np.max(apart[usable], initial=0.0)))
        _show(agreement, case, points, i, wrong, x, y)


def _show(agreement: Agreement, case: Case, points: Grid, i: int, wrong: Array, x: Array, y: Array) -> None:
    one, other = agreement.backends
    for at in np.argwhere(wrong)[: SHOWN - len(agreement.numbers)]:
        place = tuple(at)
        row = {"gradient": case.spec, "dtype": points.dtype, "derivative": str(i)}
        row |= {f"x{k}": f"{v[place]:.9g}" for k, v in enumerate(points.wide())}
        agreement.numbers.append(row | {one: f"{x[place]:.9g}", other: f"{y[place]:.9g}"})
