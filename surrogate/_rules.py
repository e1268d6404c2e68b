"""The rules that somebody wrote, as a mapping of op names to specs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surrogate._aliases import operator
from surrogate._errors import SpecError, UnknownOpError
from surrogate._gradient import Gradient
from surrogate._registry import registry
from surrogate._spec import split_id
from surrogate._suggest import unknown


def gathered(rules: Any, by_name: Mapping[str, Any]) -> Any:
    """The rules that were given as a mapping and as ``sign="hardtanh"``; None for none.

    Raises:
        SpecError: an op is given in both.
        UnknownOpError: a name is neither an op's nor an option's.
    """
    if not by_name:
        return rules
    for name in by_name:
        if not registry.knows(name) and name != "compare":
            known = [*(op.name for op in registry.ops()), "outside", "trace", "within"]
            raise UnknownOpError(unknown("op or option", name, known))
    if rules is None:
        return dict(by_name)
    read = read_rules(rules)
    twice = sorted(read.keys() & by_name.keys())
    if twice:
        raise SpecError(f"{twice[0]!r} is given twice: in the rules and by name.")
    return {**read, **by_name}


def read_rules(rules: Any) -> Mapping[Any, Any]:
    """Rules under the names of the catalogue, where they were written with operators.

    Raises:
        SpecError: they are no mapping, or give an op twice; says what to write.
        UnknownOpError: gradient and op are exchanged.
    """
    if not isinstance(rules, Mapping):
        example = _meant(rules) or {"sign": "hardtanh"}
        raise SpecError(f"rules must map op names to gradients, as in {example}, not {rules!r}.")
    found: dict[Any, Any] = {}
    for key, spec in rules.items():
        if _exchanged(key, spec):
            raise UnknownOpError(f"{key!r} is a gradient and {spec!r} an op: write {{{spec!r}: {key!r}}}.")
        name = operator(key) or key
        if name in found:
            raise SpecError(f"{name!r} is given twice: once as {key!r}.")
        found[name] = spec
    return found


def _exchanged(key: Any, spec: Any) -> bool:
    """Whether a rule's key is a gradient, and what it is to get is the op."""
    if (
        not isinstance(key, str)
        or not isinstance(spec, str)
        or registry.knows(key)
        or not registry.knows(spec)
    ):
        return False
    return key.partition("(")[0] in registry.formulas(spec)


def _meant(rules: Any) -> dict[str, str]:
    """The mapping that one gradient, an id or a text like ``sign=hardtanh`` may have meant."""
    if isinstance(rules, Gradient):
        return {rules.op.name: rules.spec}
    if not isinstance(rules, str):
        return {}
    op, spec = split_id(rules) if ":" in rules else map(str.strip, rules.partition("=")[::2])
    return {op: spec} if spec and registry.knows(op) else {}
