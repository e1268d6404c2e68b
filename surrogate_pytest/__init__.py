"""The pytest plugin: a matrix of the conformance run, and fixtures that undo overrides and audit programs.

It is imported in every pytest run where this library is installed: a package of its own, as a module of
``surrogate`` would bring that and NumPy along. It imports nothing of the library until it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from surrogate.auditing import Report


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--surrogate-matrix``."""
    parser.getgroup("surrogate").addoption(
        "--surrogate-matrix",
        metavar="FILE",
        action="append",
        default=[],
        help="write what the conformance run found: JSON, or one HTML page if FILE ends in .html "
        "(may be given more than once)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Collect the results of this run.

    Raises:
        pytest.UsageError: the matrix could not be written; said now and not after the run.
    """
    for file in config.getoption("--surrogate-matrix"):
        folder = Path(file).absolute().parent
        if not folder.is_dir():
            raise pytest.UsageError(f"--surrogate-matrix={file}: there is no folder {folder}.")
    config.pluginmanager.register(_Collector(config), "surrogate-matrix")


@pytest.fixture
def undo_overrides() -> Iterator[None]:
    """Undo, after the test, every override that it left in force, whatever the backend."""
    from surrogate.testing import undone

    with undone():
        yield


@pytest.fixture
def audit(request: pytest.FixtureRequest) -> Callable[..., Report]:
    """``surrogate.audit``; a test that fails prints the reports of the programs that it audited."""
    import surrogate

    def run(*args: Any, **options: Any) -> Report:
        report = surrogate.audit(*args, **options)
        request.node.add_report_section("call", "audit", str(report))
        return report

    return run


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Give the report of a check its result, as plain data that reaches an xdist controller too."""
    made = yield
    check = _check(item)
    if call.when == "call" and check is not None:
        from surrogate.testing import result

        mark = item.get_closest_marker("xfail")
        error = None if call.excinfo is None else call.excinfo.value
        if isinstance(error, pytest.skip.Exception):
            error = error.__context__  # what the check itself raised: there is nothing to check
        found = result(check, error, None if mark is None else mark.kwargs["reason"], call.duration)
        backend = item.cls.backend  # type: ignore[attr-defined]
        made.surrogate = {"backend": getattr(backend, "name", backend), "result": asdict(found)}  # type: ignore[attr-defined]
    return made


def _check(item: pytest.Item) -> Any:
    """The check that a test runs, if it is one of ours."""
    callspec = getattr(item, "callspec", None)
    check = None if callspec is None else callspec.params.get("check")
    return check if type(check).__module__.startswith("surrogate.testing") else None


class _Collector:
    """What the checks of this run came to, by backend."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.found: dict[str, list[dict[str, Any]]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the result of a check."""
        made = getattr(report, "surrogate", None)
        if made is not None:
            self.found.setdefault(made["backend"], []).append(made["result"])

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the matrix and write it where it was asked for."""
        if not self.found:
            return
        from surrogate.testing import _matrix

        data = _matrix.from_run(self.found)
        terminalreporter.section("surrogate conformance")
        terminalreporter.write(_matrix.as_text(data))
        for file in self.config.getoption("--surrogate-matrix"):
            _matrix.write(data, file)
            terminalreporter.write_line(f"the matrix is in {file}")
