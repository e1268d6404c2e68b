"""Code beside a captured op that takes its straight-through gradient away again, or adds it twice.

Read off the source of the function that called the op, for ``trace=True``: so it is the same in every
framework, eager and compiled.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

#: How the ops are called; methods have the same names.
_CALLED: dict[str, frozenset[str]] = {
    "round": frozenset({"round", "round_", "rint", "around"}),
    "floor": frozenset({"floor", "floor_"}),
    "ceil": frozenset({"ceil", "ceil_"}),
    "trunc": frozenset({"trunc", "trunc_", "fix", "fix_"}),
    "sign": frozenset({"sign", "sign_", "sgn"}),
}
_STOPS = frozenset({"detach", "stop_gradient", "item"})
#: Ops whose value is their argument's, up to a part: under ``identity`` the difference has no gradient left.
_NEAR = frozenset(_CALLED) - {"sign"}


class Beside(NamedTuple):
    """What code does to the gradient of an op.

    Attributes:
        what: ``"cancels"`` or ``"counts double"``.
        line: where.
    """

    what: str
    line: int


def beside(op: str, gradient: str, file: str, line: int) -> Beside | None:
    """What the code around a call of ``op`` at this line does to its gradient; None for nothing known."""
    if op not in _CALLED:
        return None
    function = _function(_tree(file, "".join(linecache.getlines(file))), line)
    if function is None:
        return None
    names, local = _assigned(function), _local(function)
    for call in _calls(function, op, line):
        for both in _sums(function):
            found = _judge(both, call, names, local)
            if found == "counts double" or (found and op in _NEAR and gradient == "identity"):
                return Beside(found, both.lineno)
    return None


def _judge(both: ast.BinOp, call: ast.Call, names: dict[str, ast.expr], local: set[str]) -> str:
    """What a sum or difference does to the gradient of a call; empty for nothing."""
    sides = both.left, both.right
    holds = [_holds(side, call, names) for side in sides]
    if holds[0] == holds[1]:
        return ""
    with_call, other = sides if holds[0] else sides[::-1]
    argument = {name for name in _values(_argument(call), names) if name.partition(".")[0] in local}
    goes_on = _values(other, names) & argument
    stopped = _values(other, names, stopped=True) & argument
    if isinstance(both.op, ast.Add):  # round(x) + (x - x.detach())
        return "counts double" if goes_on and stopped else ""
    if goes_on:
        return "cancels"
    return "counts double" if stopped and _beside_itself(with_call, call, names) & argument else ""


def _beside_itself(side: ast.expr, call: ast.Call, names: dict[str, ast.expr]) -> set[str]:
    """The values of what is added to a call, as in ``round(x) + x``."""
    found: set[str] = set()
    for node in ast.walk(side):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                if _holds(one, call, names) and not _holds(other, call, names):
                    found |= _values(other, names)
    return found


@lru_cache(maxsize=64)
def _tree(file: str, text: str) -> ast.Module | None:
    try:
        return ast.parse(text) if text else None
    except SyntaxError:  # a notebook's cell with commands of the notebook's
        return None


def _function(tree: ast.Module | None, line: int) -> ast.AST | None:
    """The innermost function around a line; the module where there is none."""
    found: ast.AST | None = tree
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.lineno <= line <= (
            node.end_lineno or 0
        ):
            found = node  # walked from the outside in
    return found


def _assigned(function: ast.AST) -> dict[str, ast.expr]:
    """Names that are assigned once, and what."""
    found: dict[str, ast.expr] = {}
    twice: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            twice |= {name} & found.keys()
            found[name] = node.value
    return {name: value for name, value in found.items() if name not in twice}


def _calls(function: ast.AST, op: str, line: int) -> Iterator[ast.Call]:
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and node.lineno <= line <= (node.end_lineno or node.lineno):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in _CALLED[op]:
                yield node


def _sums(function: ast.AST) -> Iterator[ast.BinOp]:
    """Sums and differences that carry a gradient: those inside ``detach`` and the like do not."""
    todo = [function]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub | ast.Add):
            yield node
        if not _is_stop(node):
            todo += ast.iter_child_nodes(node)


def _is_stop(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in _STOPS


def _argument(call: ast.Call) -> ast.expr:
    """What the op is taken of: ``torch.round(x)``, ``x.round(1)``."""
    if call.args and not isinstance(call.args[0], ast.Constant):
        return call.args[0]
    return call.func.value if isinstance(call.func, ast.Attribute) else call


def _holds(expr: ast.expr, call: ast.Call, names: dict[str, ast.expr], depth: int = 6) -> bool:
    """Whether a call is part of an expression, also by a name."""
    for node in ast.walk(expr):
        if node is call:
            return True
        if depth and isinstance(node, ast.Name) and node.id in names:
            rest = {name: value for name, value in names.items() if name != node.id}
            if _holds(names[node.id], call, rest, depth - 1):
                return True
    return False


def _values(expr: ast.AST, names: dict[str, ast.expr], *, stopped: bool = False, depth: int = 6) -> set[str]:
    """Names of the values that a gradient goes on to; with ``stopped`` those that it is kept from."""
    found: set[str] = set()
    todo = [(expr, False)]
    while todo:
        node, stop = todo.pop()
        stop = stop or _is_stop(node)
        if isinstance(node, ast.Name) or _is_field(node):
            if stop == stopped:
                found.add(ast.unparse(node))
            if depth and not stop and isinstance(node, ast.Name) and node.id in names:
                rest = {name: value for name, value in names.items() if name != node.id}
                found |= _values(names[node.id], rest, stopped=stopped, depth=depth - 1)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            todo += [(child, stop) for child in (node.func.value, *node.args)]
        elif isinstance(node, ast.Call):
            todo += [(child, stop) for child in node.args]
        else:
            todo += [(child, stop) for child in ast.iter_child_nodes(node)]
    return found


def _is_field(node: ast.AST) -> bool:
    """``self.weight``: a value of its own, and not all of ``self``."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)


def _local(function: ast.AST) -> set[str]:
    """What a function names itself: no module that it takes functions from."""
    stored = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return stored | {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
