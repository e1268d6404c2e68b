"""For every value a range that holds for any input: sources are unbounded, constants are as seen."""

from __future__ import annotations

import math
from collections.abc import Callable

from surrogate.auditing._graph import Graph
from surrogate.auditing._trace import Call
from surrogate.auditing._vocabulary import LINEAR

Range = tuple[float, float]

ANY: Range = (-math.inf, math.inf)
_POSITIVE: Range = (0.0, math.inf)

#: exp overflows in double precision above this.
_EXP = 709.0

#: Ops whose range does not depend on their operand.
_FIXED: dict[str, Range] = {
    **dict.fromkeys(("softmax", "sigmoid", "hardsigmoid"), (0.0, 1.0)),
    **dict.fromkeys(("tanh", "cos", "sin", "sign", "sgn", "erf"), (-1.0, 1.0)),
    **dict.fromkeys(("abs", "norm", "std", "var", "square", "softplus"), _POSITIVE),
    "relu6": (0.0, 6.0),
}

#: Ops that pick, copy or average elements of their operands.
_PICKS = LINEAR - {"add", "sub", "rsub", "neg", "mul", "div", "sum", "mod", "fmod", "add_n"} | {
    *("max", "amax", "min", "amin", "index", "gather", "avg_pool", "where", "cat", "stack", "detach"),
    *("stop_gradient", "dropout", "max_pool2d"),
}


def ranges(graph: Graph) -> dict[int, Range]:
    """The range of every value of a trace."""
    found: dict[int, Range] = {}
    for i, value in graph.trace.values.items():
        if i not in graph.tainted and value.span is not None and value.span.lo <= value.span.hi:
            found[i] = value.span.lo, value.span.hi
    for call in graph.trace.calls:
        operands = [found.get(i, ANY) for i in call.ins if i is not None and _is_float(graph, i)]
        numbers = [(float(number), float(number)) for number in call.consts]
        result = _no_nan(_range(graph, call, operands, numbers))
        for out in call.outs:
            found.setdefault(out, result)
    return found


def _is_float(graph: Graph, i: int) -> bool:
    value = graph.trace.values.get(i)
    return value is not None and value.inexact


def _no_nan(found: Range) -> Range:
    lo, hi = found
    return (-math.inf if math.isnan(lo) else lo, math.inf if math.isnan(hi) else hi)


def _range(graph: Graph, call: Call, operands: list[Range], numbers: list[Range]) -> Range:
    if call.name in _FIXED:
        return _FIXED[call.name]
    if not operands:
        return ANY
    if _is_square(call, numbers):
        return _POSITIVE
    if call.name == "sub" and len(call.ins) == 2 and is_maximum_of(graph, call.ins[1]):
        return (-math.inf, 0.0)
    if call.name in _PICKS:
        return min(lo for lo, _ in operands), max(hi for _, hi in operands)
    if call.name in _UNARY:
        return _UNARY[call.name](*operands[0])
    if call.name in ("clamp", "clip", "hardtanh", "clamp_min", "clamp_max"):
        return _clipped(operands[0], call.bounds)
    both = operands + numbers[:1] if len(operands) < 2 else operands
    if call.name in _BINARY and len(both) >= 2:
        return _BINARY[call.name](both[0], both[1])
    return ANY


def _is_square(call: Call, numbers: list[Range]) -> bool:
    if call.name == "pow":
        return bool(numbers) and numbers[0][0] % 2 == 0
    return call.name == "mul" and len(call.ins) == 2 and call.ins[0] == call.ins[1]


def _clipped(x: Range, bounds: tuple[float | None, float | None]) -> Range:
    low, high = bounds
    lo, hi = x
    if low is not None:
        lo, hi = max(lo, low), max(hi, low)
    if high is not None:
        lo, hi = min(lo, high), min(hi, high)
    return lo, hi


def _sum(lo: float, hi: float) -> Range:
    return (lo if lo >= 0 else -math.inf, hi if hi <= 0 else math.inf)


def _exp(lo: float, hi: float) -> Range:
    return 0.0, math.exp(hi) if hi < _EXP else math.inf


_UNARY: dict[str, Callable[[float, float], Range]] = {
    "exp": _exp,
    "relu": lambda lo, hi: (max(0.0, lo), max(0.0, hi)),
    "sqrt": lambda lo, hi: (math.sqrt(max(lo, 0.0)), math.inf),
    "pow": lambda lo, hi: _POSITIVE if lo >= 0 else ANY,
    "neg": lambda lo, hi: (-hi, -lo),
    "sum": _sum,
    "cumsum": _sum,
}


def _product(a: Range, b: Range) -> Range:
    return (0.0, a[1] * b[1]) if a[0] >= 0 and b[0] >= 0 else ANY


_BINARY: dict[str, Callable[[Range, Range], Range]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "rsub": lambda a, b: (b[0] - a[1], b[1] - a[0]),
    "mul": _product,
    "div": lambda a, b: _POSITIVE if a[0] >= 0 and b[0] >= 0 else ANY,
    "maximum": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "minimum": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
}


def is_maximum_of(graph: Graph, i: int | None, depth: int = 6) -> bool:
    """Whether a value is a maximum, seen through views and detach: then ``x`` less it is never positive."""
    for _ in range(depth):
        if i not in graph.maker:
            return False
        call = graph.maker[i]
        if call.name in ("max", "amax", "logsumexp"):
            return True
        if call.name not in LINEAR | {"detach", "stop_gradient", "where", "maximum"}:
            return False
        i = next((j for j in call.ins if j is not None), None)
    return False
