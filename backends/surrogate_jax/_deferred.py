"""Functions of the user's that JAX calls later: derivative rules of their own, and rules for ``vmap``.

JAX calls the rules of a ``custom_jvp`` or ``custom_vjp`` when it differentiates, and those of a
``custom_vmap`` when it batches. That may be outside of the block in which the function was called, or
inside another. What they call obeys the rules that were in force when the function was called.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import surrogate
from surrogate_jax._hooks import Undo, find, replace
from surrogate_jax._scope import is_suspended

Function = Callable[..., Any]

#: JAX's classes of functions with rules -> the attributes that hold the rules.
RULES: Mapping[str, tuple[str, ...]] = {
    "jax:custom_jvp": ("jvp",),
    "jax:custom_vjp": ("fwd", "bwd", "remat_rules"),  # the last from 0.11 on
    "jax.custom_batching:custom_vmap": ("vmap_rule",),
}


def install(backend: surrogate.Backend) -> list[Undo]:
    """Let calls of such functions remember the rules in force; returns how to take that away."""
    return [
        replace(find(where), "__call__", functools.partial(_remembering, backend, names))
        for where, names in RULES.items()
    ]


def _remembering(backend: surrogate.Backend, names: tuple[str, ...], native: Function) -> Function:
    @functools.wraps(native)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        state = None if is_suspended() else backend.state()
        given = {name: getattr(self, name) for name in names if hasattr(self, name)}
        twin = object.__new__(type(self))
        twin.__dict__.update(vars(self))
        twin.__dict__.update({name: _bound(backend, state, rule) for name, rule in given.items()})
        return native(twin, *args, **kwargs)

    return call


def _bound(backend: surrogate.Backend, state: surrogate.State | None, rule: Any) -> Any:
    """A rule, or several, to be called under this state wherever and whenever it is called."""
    if isinstance(rule, tuple):
        return tuple(_bound(backend, state, one) for one in rule)
    if not callable(rule):
        return rule

    return backend.bound_to(state, rule)
