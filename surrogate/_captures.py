"""Where an override caught ops, and where it did not: what ``trace=True`` records, as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, overload


@dataclass(frozen=True, slots=True)
class Captured:
    """What happened to one op at one place, any number of times.

    Attributes:
        op: the op's name.
        gradient: the spec of the gradient that it got; empty where it stayed native.
        file, line, function: the line of the user's code that ran it, and the dotted name of its function.
        path: the name of the module of the model that ran it, such as ``"encoder.0.act"``, if there is one.
        count: how often.
        why: why it was not captured; empty where it was.
        beside: ``"cancels at file:line"`` or ``"counts double at file:line"``, where code beside it takes its
            straight-through gradient away again, or adds one written by hand; empty where nothing is known.
    """

    op: str
    gradient: str
    file: str
    line: int
    function: str
    path: str
    count: int
    why: str = ""
    beside: str = ""

    @property
    def where(self) -> str:
        """``file:line:function``."""
        return f"{self.file}:{self.line}:{self.function.rpartition('.')[2]}" if self.file else "?"


_HEADS = ("op", "gradient", "where", "module", "count")


class Captures(Sequence[Captured]):
    """All that an override captured, then what of its ops it did not. Shown as a table."""

    def __init__(self, found: Iterable[Captured]) -> None:
        self._found = tuple(sorted(found, key=lambda one: (bool(one.why), one.file, one.line, one.op)))

    @overload
    def __getitem__(self, index: int) -> Captured: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Captured, ...]: ...
    def __getitem__(self, index: int | slice) -> Captured | tuple[Captured, ...]:
        return self._found[index]

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[Captured]:
        return iter(self._found)

    def rows(self) -> list[tuple[str, ...]]:
        """The cells of the table, with files named as briefly as they can be told apart."""
        names = _brief({one.file for one in self._found})
        return [
            (
                one.op,
                one.gradient or f"native: {one.why}",
                replace(one, file=names[one.file]).where,
                one.path,
                str(one.count),
            )
            for one in self._found
        ]

    @property
    def beside(self) -> list[str]:
        """What code beside ops does to their gradient: ``"round: identity cancels at file:line"``."""
        return [f"{one.op}: {one.gradient} {one.beside}" for one in self._found if one.beside]

    def __str__(self) -> str:
        rows = [_HEADS, *self.rows()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join([*lines, *self.beside])

    def __repr__(self) -> str:
        return f"Captures({list(self._found)!r})"

    def _repr_html_(self) -> str:
        import html  # only a notebook needs it: not worth its import time

        head = "".join(f"<th>{name}</th>" for name in _HEADS)
        body = (
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self.rows()
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>" + "".join(
            f"<p>{html.escape(line)}</p>" for line in self.beside
        )

    def __rich__(self) -> Any:
        from rich.table import Table  # only rich asks for it

        table = Table(*_HEADS)
        for row in self.rows():
            table.add_row(*row)
        return table


def _brief(files: set[str]) -> dict[str, str]:
    """For each file its last names, as many as it takes."""
    parts = {file: Path(file).parts for file in files}
    found = {}
    for file, own in parts.items():
        length = 1
        while length < len(own) and any(
            other[-length:] == own[-length:] for name, other in parts.items() if name != file
        ):
            length += 1
        found[file] = "/".join(own[-length:])
    return found
