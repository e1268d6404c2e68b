"""What a recorder hands to the rules: a program that ran once, as plain data.

A :class:`Trace` is calls of ops over integer ids of values. Recorders know no rule, rules know no framework,
so that a framework gets the whole audit for one recorder. A value that is overwritten in place has a new id
afterwards.
"""

from __future__ import annotations

import linecache
import math
from dataclasses import dataclass, field
from typing import NamedTuple


class Place(NamedTuple):
    """A line of the user's."""

    file: str
    line: int
    function: str

    def code(self) -> str:
        """The line itself, empty if the file cannot be read."""
        return linecache.getline(self.file, self.line).strip()


@dataclass(slots=True)
class Span:
    """What a float array held: the range of its finite elements, and how many were NaN, infinite and zero."""

    lo: float = math.inf
    hi: float = -math.inf
    nan: int = 0
    inf: int = 0
    zero: int = 0
    size: int = 0

    @property
    def big(self) -> float:
        """The largest magnitude of a finite element; infinity if there is none but infinities."""
        if self.lo <= self.hi:
            return max(abs(self.lo), abs(self.hi))
        return math.inf if self.inf else 0.0

    @property
    def bad(self) -> int:
        """How many elements were not finite."""
        return self.nan + self.inf


@dataclass(slots=True)
class Value:
    """An array: the name of its dtype, whether that is float or complex, its shape, what it held."""

    dtype: str
    inexact: bool
    shape: tuple[int, ...]
    span: Span | None = None


@dataclass(eq=False)
class Call:
    """One call of an op.

    Attributes:
        name: canonical name, the same in every framework (``round``, ``gt``, ``cast``, ``detach``).
        raw: the framework's own name.
        place: the line of the user's that called it.
        ins: ids of its array inputs; None for an input that is no array of the trace.
        outs: ids of its outputs.
        live_out: by output, whether the framework lets it carry a gradient.
        consts: Python numbers among its arguments.
        bounds: of a clip and the like, the lower and the upper bound where they are numbers.
        path: the module, layer or loop that it ran in (``scan/cond``).
        zero_in: positions in ``ins`` whose derivative is zero everywhere.
        why: what the recorder knows of a lost gradient: ``detach``, ``stop_gradient``, ``no_grad``, or words.
        escape: the value leaves the framework here, for Python or NumPy.
        reaches: of an escape, whether changing the value changes the loss; None if nobody could tell.
        raises: the message, where the op has no derivative at all.
        rule: id of the gradient of an override that this call obeyed (``round:identity``).
        g_out: the cotangent of its first output that has one.
        g_in: the cotangents of its inputs, by position.
        passed: of a piecewise-linear activation, the share of elements that pass a gradient.
        unit_dead: the share of units that pass none for any example of the batch.
        steep: of a sigmoid or tanh, the share of elements with under 1 % of the largest derivative.
    """

    name: str
    raw: str
    place: Place
    ins: list[int | None]
    outs: list[int]
    live_out: list[bool]
    consts: list[float] = field(default_factory=list)
    bounds: tuple[float | None, float | None] = (None, None)
    path: str = ""
    zero_in: frozenset[int] = frozenset()
    why: str = ""
    escape: bool = False
    reaches: bool | None = None
    raises: str = ""
    rule: str = ""
    g_out: Span | None = None
    g_in: list[Span | None] = field(default_factory=list)
    passed: float | None = None
    unit_dead: float | None = None
    steep: float | None = None


class Size(NamedTuple):
    """What the backward gave a source: norms of gradient and value; is it all zero, is it finite?"""

    gradient: float
    value: float
    zero: bool
    finite: bool


@dataclass(eq=False)
class Trace:
    """A program that ran once, forward and backward.

    Attributes:
        backend: name of the backend.
        calls: in the order in which they ran.
        values: by id.
        sources: id -> name of what the loss is differentiated by.
        loss: id of the loss; None if the program failed before it had one.
        grads: by name of the source; None where the framework gave no gradient.
        raised: where the program cannot be traced or differentiated at all: place, op, message.
        notes: what the reader of the report must know (``the program is random: ...``).
    """

    backend: str
    calls: list[Call]
    values: dict[int, Value]
    sources: dict[int, str]
    loss: int | None
    grads: dict[str, Size | None] = field(default_factory=dict)
    raised: tuple[Place, str, str] | None = None
    notes: list[str] = field(default_factory=list)
