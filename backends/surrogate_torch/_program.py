"""A formula's derivative as a list of calls that write where they are told: no memory is made on the way.

The formula is evaluated over symbols in place of tensors, which write down what would be called. The calls
are those of PyTorch's own operators and functions, in their order, so that the numbers are the same to the
last bit; but each writes into one of a few blocks that stay in the cache, the last into the result. It is
written down anew for every backward, so that a formula may read whatever it likes: that costs microseconds.
Of a formula that does anything else there is no program, and it is evaluated as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from surrogate import Rule
from surrogate_torch import _blocks, _namespace as xp
from surrogate_torch._plain import is_large, is_plain, is_watched

#: Below this what is written down costs more than it saves.
LARGE = 1 << 17

_below_autograd = torch._C._AutoDispatchBelowAutograd


class NoProgramError(TypeError):
    """A formula does what cannot be written down."""


class Symbol:
    """What stands for a tensor: an input of the program, or the result of one of its calls."""

    __slots__ = ("at", "program")

    dtype = "float"  # no mask

    def __init__(self, program: Program) -> None:
        self.program = program
        self.at = program.count
        program.count += 1

    def __add__(self, other: Any) -> Symbol:
        return self.program.call(torch.add, self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Symbol:
        return self.program.call(torch.sub, self, other)

    def __rsub__(self, number: Any) -> Symbol:
        return self.program.call(_subtracted_from, self, number)

    def __mul__(self, other: Any) -> Symbol:
        return self.program.call(torch.mul, self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Symbol:
        return self.program.call(torch.div, self, other)

    def __rtruediv__(self, number: Any) -> Symbol:
        found = self.program.call(torch.reciprocal, self)  # as PyTorch's operator does
        return found if number == 1 else found * number

    def __neg__(self) -> Symbol:
        return self.program.call(torch.neg, self)

    def __pow__(self, number: Any) -> Symbol:
        return self.program.call(torch.pow, self, number)

    def __bool__(self) -> bool:
        raise NoProgramError

    def __eq__(self, other: object) -> bool:
        raise NoProgramError

    __hash__ = None  # type: ignore[assignment]


def _subtracted_from(x: Any, number: Any, out: Any) -> Any:
    return torch.sub(torch.scalar_tensor(number, dtype=x.dtype), x, out=out)


class Program:
    """Calls in order, and the namespace that a formula is given while they are written down.

    Attributes:
        count: of symbols so far.
        calls: what is called, its arguments (symbols by number) and the symbol of its result.
    """

    def __init__(self) -> None:
        self.count = 0
        self.calls: list[tuple[Callable[..., Any], tuple[Any, ...], int]] = []

    def call(self, function: Callable[..., Any], *args: Any) -> Symbol:
        if not all(isinstance(arg, Symbol | int | float) for arg in args):
            raise NoProgramError
        found = Symbol(self)
        self.calls.append((function, args, found.at))
        return found

    def __getattr__(self, name: str) -> Any:
        """A name of the namespace."""
        function = _FUNCTIONS.get(name)
        if function is not None:
            plain = getattr(xp, name)
            return lambda x: self.call(function, x) if isinstance(x, Symbol) else plain(x)
        if name in _CONSTANTS:
            return getattr(xp, name)
        raise NoProgramError(name)

    def widen(self, x: Any) -> Any:
        """Only what is wide already has a program."""
        return x

    def astype_like(self, x: Any, like: Any) -> Any:
        return x


_CONSTANTS = ("e", "inf", "nan", "pi")
_NAMES = (
    *("abs", "atan", "ceil", "cos", "cosh", "exp", "expm1", "floor", "log", "log1p", "round"),
    *("sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc"),
)
_FUNCTIONS = {name: getattr(torch, name) for name in _NAMES}


def vjp(rule: Rule, saved: Sequence[Any], g: Any, needs: tuple[bool, ...]) -> list[Any] | None:
    """:meth:`Rule.vjp` of one large cotangent by a program; None where there is none."""
    if not is_large(g, LARGE) or is_watched() or g.itemsize < 4 or not _are_side_by_side(saved, g):
        return None
    program = Program()
    symbols = [Symbol(program) for _ in (*saved, g)]
    try:
        found = rule.vjp(program, symbols[:-1], symbols[-1], needs)
    except Exception:  # evaluated as it is, it says what is wrong, if anything is
        return None
    results = [one for one in found if one is not None]
    if len(results) != 1 or not isinstance(results[0], Symbol) or not program.calls:
        return None
    if program.calls[-1][2] != results[0].at:
        return None
    target = _run(program, [*saved, g], saved[0])
    return [None if one is None else target for one in found]


def _are_side_by_side(saved: Sequence[Any], g: Any) -> bool:
    """Whether all are tensors of one dtype and order in memory; the cotangent may be a number, repeated."""
    if not saved or not all(isinstance(x, torch.Tensor) and is_plain(x) for x in saved):
        return False
    lead = saved[0]
    return _blocks.is_dense(lead) and all(
        x.dtype is lead.dtype and _blocks.line(x, lead) is not None for x in (*saved, g)
    )


def _run(program: Program, inputs: Sequence[Any], lead: Any) -> Any:
    """Call after call for a block, block after block."""
    target = torch.empty_like(lead)
    step = min(_blocks.size(), lead.numel())
    places, spare = _places(program, len(inputs))
    steps = [
        (function, [arg.at if isinstance(arg, Symbol) else None for arg in args], args, at)
        for function, args, at in program.calls
    ]
    with _below_autograd():
        blocks = [torch.empty(step, dtype=lead.dtype) for _ in range(spare)]
        lines = [_blocks.line(x, lead).split(step) for x in inputs]
        for part in zip(*lines, _blocks.line(target, target).split(step), strict=True):
            size = part[-1].numel()
            room = [part[-1], *(blocks if size == step else [block[:size] for block in blocks])]
            held: dict[int, Any] = dict(enumerate(part[:-1]))
            for function, symbols, args, at in steps:
                given = [arg if i is None else held[i] for i, arg in zip(symbols, args, strict=True)]
                out = held[at] = room[places[at]]
                function(*given, out=out)
    return target


def _places(program: Program, inputs: int) -> tuple[dict[int, int], int]:
    """The place of each result, 0 for the memory that the last one fills; and how many there are besides.

    A result takes the place of an argument that nobody reads any more: a call may write where it reads.
    """
    last: dict[int, int] = {}
    for i, (_, args, _) in enumerate(program.calls):
        for arg in args:
            if isinstance(arg, Symbol):
                last[arg.at] = i
    places: dict[int, int] = {}
    free: list[int] = []
    count = 0
    for i, (_, args, at) in enumerate(program.calls):
        read = {arg.at for arg in args if isinstance(arg, Symbol)}
        free += [places[one] for one in read if one >= inputs and last[one] == i]
        if not free:
            free.append(count)
            count += 1
        places[at] = free.pop()
    final = places[program.calls[-1][2]]
    swapped = {at: 0 if place == final else final if place == 0 else place for at, place in places.items()}
    return swapped, count - 1
