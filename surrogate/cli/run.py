"""``surrogate run``: an unmodified script under overrides."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import click

from surrogate import _environment
from surrogate._errors import SurrogateError
from surrogate._override import Override, use
from surrogate._plugins import backends, load_backend
from surrogate.cli._console import progress
from surrogate.cli._rules import read_rules
from surrogate.cli._script import run_script


@click.command(
    short_help="Run an unmodified script under overrides.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option("-m", "module", is_flag=True, help="SCRIPT is the name of a module, as in 'python -m'.")
@click.option("--backend", help="Override in this framework; by default in each that the script imports.")
@click.option(
    "-r", "--rule", "rules", multiple=True, callback=read_rules, help="op=gradient; may be repeated."
)
@click.option("--rules", "file", type=click.Path(dir_okay=False), help="A TOML file with a table [rules].")
@click.option(
    "--audit-first", is_flag=True, help="Audit its first gradient before, and run under what that suggests."
)
@click.option("--within", multiple=True, help="Only in this module, package or function; may be repeated.")
@click.option("--outside", multiple=True, help="Not in this one; may be repeated.")
@click.option("--print-env", is_flag=True, help="Print what to set for a process that somebody else starts.")
@click.argument("script", required=False)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def run(
    module: bool,
    backend: str | None,
    rules: dict[str, str],
    file: str | None,
    audit_first: bool,
    within: tuple[str, ...],
    outside: tuple[str, ...],
    print_env: bool,
    script: str | None,
    args: tuple[str, ...],
) -> None:
    """Run SCRIPT with its ARGS, unmodified, under overrides, and print at its end where they caught.

    Without rules the recommended gradient of every op is in force. Ends with the script's own status.
    """
    from_file, options = _environment.read_file(file) if file else ({}, {})
    wanted = {**from_file, **rules}
    options |= {name: list(given) for name, given in (("within", within), ("outside", outside)) if given}
    if print_env:
        _print_env(rules, file)
        return
    if script is None:
        raise click.UsageError("name the SCRIPT to run, or --print-env.")
    if not module and not Path(script).is_file():
        raise click.BadParameter(f"there is no file {script!r}.", param_hint="SCRIPT")
    if audit_first:
        wanted = {**_suggested(script, args, module, backend), **wanted}
        if not wanted:  # without rules all would be in force
            progress().print("surrogate: the audit suggests no override; the script runs as it is.")
            sys.exit(_run(script, args, module))
    put: list[Override] = []
    watched = [] if backend else backends()
    if backend:
        put.append(use(load_backend(backend), wanted or None, trace=True, **options))
    with _environment.follow_imports(
        watched, wanted or None, {"trace": True, **options}, put.append, _refused
    ):
        status = _run(script, args, module)
    _tell(put)
    sys.exit(status)


def _suggested(script: str, args: tuple[str, ...], module: bool, backend: str | None) -> dict[str, str]:
    """What an audit of the script's first gradient suggests, made in a process of its own."""
    options = ["--suggest", *(["-m"] if module else []), *(["--backend", backend] if backend else [])]
    command = [sys.executable, "-m", "surrogate._main", "audit", *options, script, *args]
    found = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return dict(json.loads(found.stdout)) if found.stdout.strip() else {}


def _run(script: str, args: tuple[str, ...], module: bool) -> Any:
    """Run the script; its exit status."""
    try:
        run_script(script, args, module=module)
    except SystemExit as error:
        return error.code
    except Exception:
        traceback.print_exc()
        return 1
    return 0


def _tell(put: list[Override]) -> None:
    if not put:
        progress().print("surrogate: the script imported no framework that a backend is installed for.")
    for override in put:
        progress().print(str(override), markup=False, soft_wrap=True)


def _refused(name: str, error: SurrogateError) -> None:
    progress().print(f"surrogate: nothing is in force in {name}: {error}", markup=False)


def _print_env(rules: dict[str, str], file: str | None) -> None:
    """For a shell to evaluate."""
    text = str(Path(file).resolve()) if file else "; ".join(f"{op}={spec}" for op, spec in rules.items())
    if not text or (file and rules):
        raise click.UsageError("--print-env takes either -r op=gradient or --rules FILE.toml.")
    path = os.pathsep.join(filter(None, [str(_environment.HOOK), os.environ.get("PYTHONPATH", "")]))
    click.echo(f"export {_environment.NAME}={shlex.quote(text)} PYTHONPATH={shlex.quote(path)}")
