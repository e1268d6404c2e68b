"""Values that are probabilities: a softmax or sigmoid, also one that is written by hand."""

from __future__ import annotations

from surrogate.auditing._graph import Graph
from surrogate.auditing._ranges import Range
from surrogate.auditing._trace import Call

VIEWS = frozenset(("view", "reshape", "expand", "squeeze", "unsqueeze", "expand_dims", "broadcast_in_dim"))

#: They hand on elements of their first operand.
_SOME = VIEWS | {"slice", "select", "index", "gather", "transpose", "permute", "t", "clone", "contiguous"}


def probability(graph: Graph, i: int | None, known: dict[int, Range]) -> str:
    """``"softmax"`` or ``"sigmoid"`` for a value that is one, or a part of one; else empty."""
    call = _maker(graph, through(graph, i, _SOME))
    if call is None:
        return ""
    if call.name in ("softmax", "sigmoid"):
        return call.name
    if call.name == "mul" and call.consts == [1.0]:  # how PyTorch writes 1 / x: its reciprocal times 1
        return probability(graph, call.ins[0], known)
    if call.name == "reciprocal" or (call.name == "div" and len(call.ins) == 1):
        return _by_hand(graph, None, call.ins[0], known)
    return _by_hand(graph, call.ins[0], call.ins[1], known) if call.name == "div" else ""


def _by_hand(graph: Graph, above: int | None, below: int | None, known: dict[int, Range]) -> str:
    """The same of a quotient; ``above`` is None for the number 1."""
    under = _maker(graph, through(graph, below, VIEWS))
    if under is None or under.name not in ("sum", "add"):
        return ""
    made = [_maker(graph, i) for i in under.ins]
    powers = [call.ins for call in made if call is not None and call.name == "exp"]
    over = _maker(graph, above)
    # compared by what it is the exp of: the one below the line is often computed once more
    is_power = over is not None and over.name == "exp" and over.ins in powers
    if under.name == "sum":
        return "softmax" if is_power else ""
    has_one = 1.0 in under.consts or any(_is_one(i, known) for i in under.ins)
    of_one = above is None or is_power or _is_one(above, known)
    return "sigmoid" if powers and has_one and of_one else ""


def one_less(graph: Graph, log: Call, known: dict[int, Range]) -> int | None:
    """The ``p`` of ``log(1 - p)`` and ``log1p(-p)``."""
    inner = _maker(graph, through(graph, log.ins[0], _SOME))
    if inner is None:
        return None
    if log.name == "log1p":
        return inner.ins[0] if inner.name == "neg" else None
    if inner.name == "rsub" or (inner.name == "sub" and len(inner.ins) == 1):
        return inner.ins[0] if 1.0 in inner.consts else None
    return inner.ins[1] if inner.name == "sub" and _is_one(inner.ins[0], known) else None


def through(graph: Graph, i: int | None, ops: frozenset[str], depth: int = 5) -> int | None:
    """The value behind a chain of such ops along the first input."""
    for _ in range(depth):
        if i not in graph.maker or graph.made_by(i) not in ops:
            break
        i = graph.maker[i].ins[0]
    return i


def _maker(graph: Graph, i: int | None) -> Call | None:
    return graph.maker.get(i) if i is not None else None


def _is_one(i: int | None, known: dict[int, Range]) -> bool:
    return i is not None and known.get(i) == (1.0, 1.0)
