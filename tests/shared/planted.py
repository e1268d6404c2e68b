"""Programs with one planted fault each: where it is, and whether an audit says so.

The line that loses the gradient ends in ``# plant: KIND``, or ``KIND|KIND`` where either word would do;
``# plant: unreached NAME`` marks a parameter that never enters the loss.
"""

import inspect
from dataclasses import dataclass


@dataclass(frozen=True)
class Plant:
    """One of ``kinds`` at ``line`` of ``file``, or a parameter that nothing uses."""

    file: str
    line: int
    kinds: tuple[str, ...]
    unused: str = ""

    def found(self, report):
        """Whether ``report`` says this and says it at the line, at warning or worse."""
        if self.unused:
            return any(self.unused in name for name in report.unreached)
        return any(
            finding.kind in self.kinds and finding.where.file == self.file and finding.where.line == self.line
            for finding in report.shown()
        )

    def others(self, report):
        """Findings that are not of the planted line."""
        return [f for f in report.shown() if (f.where.file, f.where.line) != (self.file, self.line)]


def plant(build):
    """The fault that is marked in the source of the program ``build``."""
    lines, first = inspect.getsourcelines(build)
    for number, line in enumerate(lines, first):
        _, mark, words = line.partition("# plant: ")
        if mark:
            kinds, _, unused = words.strip().partition(" ")
            return Plant(inspect.getsourcefile(build), number, tuple(kinds.split("|")), unused)
    raise ValueError(f"no line of {build.__name__} is marked")
