"""TensorFlow 1's way, alive again: gradients by op type, from functions registered with TensorFlow."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

import tensorflow as tf

import surrogate
from surrogate_tensorflow import _hooks, _types
from surrogate_tensorflow._met import Block, blocks
from surrogate_tensorflow._scope import Scope
from surrogate_tensorflow._spellings import OP_TYPES


@contextmanager
def override_map(scope: Scope, op_type_map: Mapping[str, str]) -> Iterator[None]:
    """See :func:`surrogate_tensorflow.gradient_override_map`."""
    if not isinstance(op_type_map, Mapping):
        raise surrogate.SpecError(f"an op_type_map is a dict like {{'Sign': 'Mine'}}, not {op_type_map!r}.")
    for op_type, name in op_type_map.items():
        _check_op_type(op_type)
        _check_registered(name)
    _types.watched.update(op_type_map)
    block = Block(op_type_map)
    try:
        blocks.append(block)
        with scope.types_in_force(MappingProxyType({**scope.here().types, **op_type_map})):
            yield
    finally:
        blocks.remove(block)
    block.warn_if_unused(stacklevel=3)


def _check_op_type(op_type: str) -> None:
    known = [name for name in dir(tf.raw_ops) if not name.startswith("_")]
    if op_type not in known:
        ours = [name for name, op in OP_TYPES.items() if op == op_type]
        raise surrogate.UnknownOpError(
            f"TensorFlow has no op type {op_type!r}{_suggest(op_type, known, ours)} Keys are op types, as in "
            "tf.raw_ops; names like 'sign' are for surrogate.override."
        )


def _check_registered(name: str) -> None:
    if not isinstance(name, str):
        raise surrogate.SpecError(
            f"a gradient is given by the name it has in tf.RegisterGradient, not as {name!r}: "
            "write @tf.RegisterGradient('Mine') above the function, and 'Mine' here."
        )
    registry = _hooks.gradient_registry.native
    try:
        registry.lookup(name)
    except LookupError:
        known = registry.list()
        raise surrogate.UnknownGradientError(
            f"no gradient function is registered as {name!r}{_suggest(name, known)} "
            f"Register it first: @tf.RegisterGradient({name!r})."
        ) from None


def _suggest(name: str, known: Iterable[str], first: Iterable[str] = ()) -> str:
    lower = {other.lower(): other for other in known}
    close = [*first, *(lower[other] for other in difflib.get_close_matches(name.lower(), lower, n=3))]
    return f"; did you mean {' or '.join(map(repr, dict.fromkeys(close)))}?" if close else "."
