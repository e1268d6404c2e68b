"""Every way ATen spells an op: the overloads to put a kernel over, and where their inputs are.

Functions, methods, operators, modules, TorchScript and C++ all end in these. Aliases that ATen
composes of them (``fix``, ``absolute``, ``clip``, ``divide``, ``special_round``, ``relu6``) need no entry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

import torch

aten = torch.ops.aten

Args = Sequence[Any]
Kwargs = Mapping[str, Any]


class Call(NamedTuple):
    """An op call read off an overload's arguments.

    Attributes:
        op: the op's name.
        inputs: its inputs: tensors or Python numbers.
    """

    op: str
    inputs: tuple[Any, ...]


class Spelling(NamedTuple):
    """One overload.

    Attributes:
        op: the op's name, for a table; a :class:`Call` says which it is for given arguments.
        overload: the ATen overload.
        read: the call that its arguments stand for, or None where it is no op of ours.
        inplace: the overload that changes its first argument instead.
        ops: the ops that a call may turn out to be.
    """

    op: str
    overload: Any
    read: Callable[[Args, Kwargs], Call | None]
    inplace: Any = None
    ops: tuple[str, ...] = ()


def _same(op: str) -> Callable[[Args, Kwargs], Call]:
    return lambda args, kwargs: Call(op, tuple(args))


def _floor_mode(args: Args, kwargs: Kwargs) -> Call | None:
    """``div(rounding_mode="floor")`` is floor_divide; ``"trunc"`` and None are left native."""
    return Call("floor_divide", tuple(args)) if kwargs.get("rounding_mode") == "floor" else None


def _bound(value: Any, absent: float) -> Any:
    return absent if value is None else value


def _clamp(args: Args, kwargs: Kwargs) -> Call:
    x, lo, hi = (*args, None, None)[:3]
    return Call("clip", (x, _bound(lo, -inf), _bound(hi, inf)))


def _clamp_min(args: Args, kwargs: Kwargs) -> Call:
    return Call("clip", (args[0], args[1], inf))


def _clamp_max(args: Args, kwargs: Kwargs) -> Call:
    return Call("clip", (args[0], -inf, args[1]))


def _hardtanh(args: Args, kwargs: Kwargs) -> Call:
    """ATen's relu6 is ``hardtanh(x, 0, 6)``, in functions and modules alike; any other is clip."""
    lo = args[1] if len(args) > 1 else -1
    hi = args[2] if len(args) > 2 else 1
    return Call("relu6", (args[0],)) if (lo, hi) == (0, 6) else Call("clip", (args[0], lo, hi))


#: Ops of one tensor and no other argument: they take the short way, ``_capture.unary``.
UNARY = tuple(
    Spelling(op, getattr(aten, name).default, _same(op), getattr(aten, f"{name}_").default)
    for op, name in (
        ("sign", "sign"),
        ("sign", "sgn"),
        ("round", "round"),
        ("floor", "floor"),
        ("ceil", "ceil"),
        ("trunc", "trunc"),
        ("relu", "relu"),
        ("abs", "abs"),
    )
)

OTHERS = (
    Spelling("round", aten.round.decimals, _same("round"), aten.round_.decimals),
    Spelling("mod", aten.remainder.Tensor, _same("mod"), aten.remainder_.Tensor),
    Spelling("mod", aten.remainder.Scalar, _same("mod"), aten.remainder_.Scalar),
    Spelling("mod", aten.remainder.Scalar_Tensor, _same("mod")),
    Spelling("fmod", aten.fmod.Tensor, _same("fmod"), aten.fmod_.Tensor),
    Spelling("fmod", aten.fmod.Scalar, _same("fmod"), aten.fmod_.Scalar),
    Spelling("floor_divide", aten.floor_divide.default, _same("floor_divide"), aten.floor_divide_.Tensor),
    Spelling("floor_divide", aten.floor_divide.Scalar, _same("floor_divide"), aten.floor_divide_.Scalar),
    Spelling("floor_divide", aten.div.Tensor_mode, _floor_mode, aten.div_.Tensor_mode),
    Spelling("floor_divide", aten.div.Scalar_mode, _floor_mode, aten.div_.Scalar_mode),
    Spelling("heaviside", aten.heaviside.default, _same("heaviside"), aten.heaviside_.default),
    Spelling("maximum", aten.maximum.default, _same("maximum")),
    Spelling("minimum", aten.minimum.default, _same("minimum")),
    Spelling("clip", aten.clamp.default, _clamp, aten.clamp_.default),
    Spelling("clip", aten.clamp.Tensor, _clamp, aten.clamp_.Tensor),
    Spelling("clip", aten.clamp_min.default, _clamp_min, aten.clamp_min_.default),
    Spelling("clip", aten.clamp_min.Tensor, _clamp_min, aten.clamp_min_.Tensor),
    Spelling("clip", aten.clamp_max.default, _clamp_max, aten.clamp_max_.default),
    Spelling("clip", aten.clamp_max.Tensor, _clamp_max, aten.clamp_max_.Tensor),
    Spelling("clip", aten.hardtanh.default, _hardtanh, aten.hardtanh_.default, ("clip", "relu6")),
)

SPELLINGS = UNARY + OTHERS

#: The ops that give booleans and integers; see :mod:`_discrete`.
DISCRETE = frozenset(
    {
        "argmax",
        "argmin",
        "astype",
        "equal",
        "greater",
        "greater_equal",
        "less",
        "less_equal",
        "not_equal",
        "searchsorted",
    }
)

#: The ops that can be captured and give floats.
OPS = frozenset(op for spelling in SPELLINGS for op in (spelling.op, *spelling.ops))


def tensor_slots(overload: Any) -> tuple[int, ...]:
    """Positions of an overload's Tensor arguments, in which PyTorch also lets a number stand."""
    return tuple(
        position
        for position, argument in enumerate(overload._schema.arguments)
        if isinstance(argument.type, torch.TensorType)
    )
