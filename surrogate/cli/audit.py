"""``surrogate audit``: an unmodified script up to the first gradient that it asks for."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext, redirect_stdout
from pathlib import Path

import click

import surrogate
from surrogate._arrival import when_imported
from surrogate._plugins import backends, load_backend
from surrogate._suggest import unknown
from surrogate.auditing import KINDS, SEVERITIES, Report, Trace, report_of
from surrogate.cli._console import print_json, progress, results
from surrogate.cli._script import run_script

#: No gradient was asked for.
_NOTHING = 3


class _Done(BaseException):
    """Ends a script; no ``except Exception`` of its own stops it."""


@click.command(
    short_help="Say which line of a script costs a gradient.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option("-m", "module", is_flag=True, help="SCRIPT is the name of a module, as in 'python -m'.")
@click.option("--backend", help="Watch this framework; by default each one that the script imports.")
@click.option("--step", type=click.IntRange(1), default=1, show_default=True, help="Which gradient.")
@click.option("--kinds", help="Only these kinds, with commas: " + ", ".join(KINDS) + ".")
@click.option("--level", type=click.Choice(SEVERITIES), default="warning", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--suggest", "only_mapping", is_flag=True, help="Print only the overrides that would mend it.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write one page here.")
@click.option("--continue", "go_on", is_flag=True, help="Let the script run on after the audit.")
@click.argument("script")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def audit(
    module: bool,
    backend: str | None,
    step: int,
    kinds: str | None,
    level: str,
    as_json: bool,
    only_mapping: bool,
    html: Path | None,
    go_on: bool,
    script: str,
    args: tuple[str, ...],
) -> None:
    """Run SCRIPT with its ARGS, unmodified, and audit the first gradient that it asks for.

    Names every op that cuts, zeroes, explodes or NaNs a gradient, with its line and what mends it. The
    script is then stopped. Ends with status 1 if there is a finding at error, 3 if no gradient was asked for.
    """
    if not module and not Path(script).is_file():
        raise click.BadParameter(f"there is no file {script!r}.", param_hint="SCRIPT")
    if html is not None and not html.absolute().parent.is_dir():
        raise click.BadParameter(f"there is no folder {html.absolute().parent}.", param_hint="--html")
    asked = tuple(kind.strip() for kind in (kinds or "").split(",") if kind.strip())
    for kind in asked:
        if kind not in KINDS:  # told before the script runs
            raise click.BadParameter(unknown("kind", kind, KINDS), param_hint="--kinds")
    found: list[Report] = []
    output = sys.stdout

    def caught(trace: Trace) -> None:
        found.append(report_of(trace, kinds=asked, level=level))
        if not go_on:
            raise _Done
        with redirect_stdout(output):
            _show(found[0], as_json=as_json, only_mapping=only_mapping, html=html)

    machine = as_json or only_mapping  # what a program reads has standard output for itself
    watched = [backend] if backend else backends()
    with redirect_stdout(sys.stderr) if machine else nullcontext():
        ended = _run(script, args, module, watched, caught, step)
    if not found:
        progress().print(f"{ended}: nothing to audit.", markup=False)
        sys.exit(_NOTHING)
    if not go_on:
        _show(found[0], as_json=as_json, only_mapping=only_mapping, html=html)
    if any(finding.severity == "error" for finding in found[0].findings):
        sys.exit(1)


def _run(
    script: str,
    args: Sequence[str],
    module: bool,
    names: Sequence[str],
    caught: Callable[[Trace], None],
    step: int,
) -> str:
    """Run the script under watch; how it ended, in words."""
    with ExitStack() as stack:

        def arrived(name: str) -> None:
            try:
                stack.enter_context(load_backend(name).intercept(caught, step=step))
            except surrogate.UnsupportedAuditError as error:
                progress().print(f"not watched: {error}", markup=False)

        stack.enter_context(when_imported(names, arrived))
        try:
            run_script(script, args, module=module)
        except _Done:
            return "stopped"
        except SystemExit as error:
            return f"the script ended with status {error.code or 0} and asked for {_gradient(step)}"
        except Exception:
            traceback.print_exc()
            return f"the script failed before it asked for gradient {step}"
    return f"the script ended and asked for {_gradient(step)}"


def _gradient(step: int) -> str:
    return "no gradient" if step == 1 else f"fewer than {step} gradients"


def _show(report: Report, *, as_json: bool, only_mapping: bool, html: Path | None) -> None:
    if html is not None:
        report.to_html(html)
    if as_json:
        print_json(report.to_json())
    elif only_mapping:
        click.echo(json.dumps(report.suggest()))
    else:
        results().print(report)
