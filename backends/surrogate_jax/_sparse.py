"""``sparsify`` on sparse arrays: what JAX itself applies to the stored entries obeys its rule there."""

from __future__ import annotations

import contextlib
from typing import Any

import surrogate
from surrogate_jax._hooks import SPARSE, SPARSE_HOOKS
from surrogate_jax._primitive import surrogate_p

#: Ops that are 0 at 0 and that JAX has a rule for sparse arrays for.
_OPS = ("sign", "abs")


def taught() -> contextlib.AbstractContextManager[None]:
    """``sparsify`` gets a rule for captured ops, as soon as it is there, while this is entered."""
    return surrogate.when_imported([SPARSE], _teach)


def _teach(name: str) -> None:
    try:
        rule_of, *tables = [hook.find() for hook in SPARSE_HOOKS]
    except AttributeError:
        return
    entries = rule_of(surrogate_p, False)

    def stored(spenv: Any, *values: Any, call: Any) -> Any:
        if call.native.function not in _OPS:
            raise NotImplementedError(
                f"sparse rule for surrogate of {call.native!r} is not implemented, and JAX has none for the "
                "op. Use sparse.todense, or apply the op to x.data."
            )
        return entries(spenv, *values, call=call)

    for table in tables:
        table[surrogate_p] = stored
