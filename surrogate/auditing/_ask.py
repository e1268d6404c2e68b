"""The arguments of an audit, checked before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from surrogate._backend import Backend
from surrogate._errors import SpecError
from surrogate._plugins import load_backend
from surrogate._suggest import unknown
from surrogate.auditing._audit import Program, in_force, specs, tried
from surrogate.auditing._finding import KINDS, SEVERITIES
from surrogate.auditing._judge import Options, judge
from surrogate.auditing._precision import PROBED
from surrogate.auditing._report import Report
from surrogate.auditing._sound import Ignored, read_ignored
from surrogate.auditing._trace import Trace

PROBES = (*PROBED, "scale")
KEEP = ("all", "light")


def ask(
    backend: str | Backend,
    fn: Callable[..., Any],
    args: Sequence[Any],
    loss: Callable[..., Any] | None,
    wrt: Any,
    argnums: int | Sequence[int],
    kinds: Iterable[str],
    level: str,
    ignore: Iterable[Ignored],
    probes: Iterable[str],
    keep: str,
) -> Report:
    """Check, run, judge, and try what is suggested."""
    found = load_backend(backend)
    if not callable(fn):
        raise SpecError(f"an audit runs a function or a model, not {fn!r}.")
    one_of("keep", keep, KEEP)
    options = read_options(kinds, level, ignore, probes)
    return tried(Program(found, fn, args, loss, wrt, argnums, keep == "light", options).report())


def report_of(trace: Trace, *, kinds: Iterable[str] = (), level: str = "warning") -> Report:
    """The report of a trace that a backend handed over; it cannot be verified.

    Raises:
        SpecError: a kind or level that does not exist, with the nearest.
    """
    options = read_options(kinds, level, (), ())
    return judge(trace, specs(load_backend(trace.backend)), options, in_force(trace.backend))


def read_options(
    kinds: Iterable[str], level: str, ignore: Iterable[Ignored], probes: Iterable[str]
) -> Options:
    """What to look for and to show.

    Raises:
        SpecError: a kind, level or probe that does not exist, with the nearest.
    """
    one_of("level", level, SEVERITIES)
    read = Options(_names(kinds), level, read_ignored(ignore), tuple(sorted(_names(probes))))
    for kind in read.kinds:
        one_of("kind", kind, KINDS)
    for probe in read.probes:
        one_of("probe", probe, PROBES)
    return read


def one_of(what: str, name: str, known: Sequence[str]) -> None:
    """Check one name.

    Raises:
        SpecError: it is not known; with the nearest.
    """
    if name not in known:
        raise SpecError(unknown(what, name, known))


def _names(given: Iterable[str]) -> frozenset[str]:
    return frozenset((given,) if isinstance(given, str) else given)
