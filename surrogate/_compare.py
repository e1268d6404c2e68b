"""The rule key ``compare``: all four orderings at once."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from surrogate._derived import Derived, negated
from surrogate._gradient import Gradient

#: What the key is.
KEY = "compare"

#: The ops it stands for.
ORDERINGS = ("greater", "greater_equal", "less", "less_equal")


def expanded(rules: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    """The rules with ``compare`` replaced by the orderings that have no rule of their own there."""
    for key, spec in rules.items():
        if key == KEY:
            yield from ((op, ordering(op, spec)) for op in ORDERINGS if op not in rules)
        else:
            yield key, spec


def ordering(op: str, spec: Any) -> Any:
    """What a spec under ``compare`` is for one ordering.

    A function of one input is a gradient of ``heaviside``, of ``x - y``. One of two gives the partial
    derivatives of ``greater``, and those of ``less`` are the negative.
    """
    if isinstance(spec, Gradient) and spec.op.name in (*ORDERINGS, "heaviside"):
        spec = spec.spec if spec.formula.name else spec.formula.function
    if op in ("less", "less_equal") and callable(spec) and len(_inputs(spec)) == 2:
        return Derived(spec, negated, ("x", "y"))
    return spec


def _inputs(function: Any) -> list[str]:
    """Names of what a formula takes after ``xp``."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []  # the registry will refuse it, and say why
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return names[1:]
