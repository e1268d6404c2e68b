"""Undoing a broadcast: the cotangent of an operand is summed to the operand's shape."""

from __future__ import annotations


def broadcast_axes(shape: tuple[int, ...], target: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of ``shape`` along which an operand of shape ``target`` was repeated.

    Summing over them, and reshaping to ``target``, is the transpose of broadcasting.
    """
    extra = len(shape) - len(target)
    repeated = (extra + axis for axis, size in enumerate(target) if size == 1 and shape[extra + axis] != 1)
    return (*range(extra), *repeated)
