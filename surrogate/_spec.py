"""Specs: ``"hardtanh(width=1.5)"`` read as a name and literals, never evaluated."""

from __future__ import annotations

import ast
import re

from surrogate._errors import SpecError

#: What leaves an op alone, and cuts a hole in an outer override.
NATIVE = "native"

#: How a gradient shows itself, ``Gradient('sign:hardtanh(width=1.0)')``: what it shows can be pasted.
_SHOWN = re.compile(
    r"\s*(?:surrogate\.)?(?:Native|Function)?Gradient\((?P<quote>['\"])(?P<id>.*)(?P=quote)\)\s*", re.DOTALL
)

_NUMPY_SCALAR = re.compile(r"(?:np|numpy)\.u?(?:int|float|longdouble|longlong)\d*")

_SPEC = re.compile(r"\s*(?P<name>[A-Za-z_][\w.-]*(?::[A-Za-z_][\w.-]*)?)\s*(?P<call>\(.*\))?\s*", re.DOTALL)


def parse(spec: str, positional: tuple[str, ...] = ()) -> tuple[str, dict[str, object]]:
    """Split a spec string into the gradient's name and its parameters.

    Args:
        spec: the text.
        positional: names of the parameters that may be given without their name.

    Raises:
        SpecError: the text is not ``name`` or ``name(parameter=literal, ...)``.
    """
    match = _SPEC.fullmatch(spec)
    if match is None:
        raise SpecError(_explain(spec, "it is not of the form name or name(parameter=value)"))
    call = match["call"]
    return match["name"], ({} if call is None else _literals(spec, call, positional))


def unwrapped(text: str) -> str:
    """The id that a gradient shows, ``sign:hardtanh(width=1.0)``; any other text as it is."""
    shown = _SHOWN.fullmatch(text)
    return text if shown is None else shown["id"]


def without_owner(text: str, owner: str) -> str:
    """A spec that may be written as an id: without ``owner:``, the op that it is asked for."""
    text = unwrapped(text).strip()
    return text.removeprefix(f"{owner}:")


def split_id(text: str) -> tuple[str, str]:
    """``"sign:hardtanh(width=2)"`` as op and spec; the spec is empty if there is none.

    A native op's name may have colons of its own, ``aten::sort:scaled(factor=2)``.
    """
    op, _, spec = re.sub("::", "\0", unwrapped(text)).partition(":")
    return op.replace("\0", "::").strip(), spec.replace("\0", "::").strip()


def _literals(spec: str, call: str, positional: tuple[str, ...]) -> dict[str, object]:
    try:
        tree = ast.parse(f"f{call}", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise SpecError(_explain(spec, "the parentheses cannot be read")) from error
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
        raise SpecError(_explain(spec, "there is more than one pair of parentheses"))
    if len(tree.args) > len(positional):
        raise SpecError(_explain(spec, "parameters are given by name"))
    first = [ast.keyword(name, value) for name, value in zip(positional, tree.args, strict=False)]
    values: dict[str, object] = {}
    for keyword in first + tree.keywords:
        if keyword.arg is None:
            raise SpecError(_explain(spec, "** is not allowed"))
        if keyword.arg in values:
            raise SpecError(_explain(spec, f"{keyword.arg!r} is given twice"))
        try:
            values[keyword.arg] = _value(keyword.value)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
            raise SpecError(_explain(spec, f"the value of {keyword.arg!r} is not a literal")) from error
    return values


def _value(node: ast.expr) -> object:
    """A literal, or a NumPy scalar as NumPy 2 shows it: ``np.float64(1.5)``."""
    if isinstance(node, ast.Call) and _NUMPY_SCALAR.fullmatch(ast.unparse(node.func)) and len(node.args) == 1:
        return ast.literal_eval(node.args[0])
    return ast.literal_eval(node)


def _explain(spec: str, reason: str) -> str:
    return f"cannot read the spec {spec!r}: {reason}. Write it like 'hardtanh(width=1.5)'."
