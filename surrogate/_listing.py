"""What is registered, as plain data: cheap, and no framework is imported."""

from __future__ import annotations

from typing import overload

from surrogate._names import OpName
from surrogate._op import Op
from surrogate._registry import registry


def ops() -> list[str]:
    """Names of all ops, in the order of the catalogue."""
    return [known.name for known in registry.ops()]


def op(name: OpName | str) -> Op:
    """What is known of an op.

    Raises:
        UnknownOpError: with the nearest name and all known names.
    """
    return registry.op(name)


@overload
def gradients(op: None = None) -> dict[str, list[str]]: ...
@overload
def gradients(op: OpName | str) -> list[str]: ...
def gradients(op: str | None = None) -> dict[str, list[str]] | list[str]:
    """Names of the gradients of an op, the recommended one first; of every op by name if None.

    Raises:
        UnknownOpError: with the nearest name and all known names.
    """
    if op is None:
        return {known.name: gradients(known.name) for known in registry.ops()}
    default = registry.op(op).default
    return sorted(registry.formulas(op), key=lambda name: (name != default, name))


def presets(op: OpName | str) -> dict[str, str]:
    """The presets of an op: ``library:name``, and the spec each stands for.

    Raises:
        UnknownOpError: with the nearest name and all known names.
    """
    return {name: preset.spec for name, preset in registry.presets(op).items()}
