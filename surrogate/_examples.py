"""A spec for every gradient, also for those that have parameters without a default."""

from __future__ import annotations

from surrogate._listing import gradients
from surrogate._registry import registry


def examples(op: str, *, inherited: bool = True) -> list[str]:
    """One spec per gradient of an op, the recommended one first; -1.5, 1.5, ... where no default is known.

    Args:
        op: the op's name.
        inherited: also those that it has from other ops.

    Raises:
        UnknownOpError: with the nearest name and all known names.
    """
    own = registry.own(op)
    return [_example(op, name) for name in gradients(op) if inherited or name in own]


def _example(op: str, name: str) -> str:
    parameters = registry.formula(op, name).parameters.values()
    missing = [parameter.name for parameter in parameters if parameter.default is None]
    given = ", ".join(f"{missing[i]}={1.5 * (2 * i - 1)}" for i in range(len(missing)))
    return f"{name}({given})" if given else name
