"""``checkify`` finds in a captured op what it finds in the native one: NaN, division by zero."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
from jax.experimental import checkify

from surrogate_jax._hooks import find


def register(primitive: Any, value: Callable[..., Any]) -> None:
    """Let ``checkify`` look at how ``value`` is computed, wherever it meets ``primitive``."""
    rules = find("jax._src.checkify:error_checks")
    rules[primitive] = functools.partial(_checked, primitive, value)


def _checked(primitive: Any, value: Callable[..., Any], *given: Any, **params: Any) -> tuple[Any, Any]:
    at = next(i for i, x in enumerate(given) if isinstance(x, checkify.Error))
    context, error, enabled, operands = (
        given[:at],
        given[at],
        given[at + 1],
        given[at + 2 :],
    )  # context: 0.11 on
    inside = jax.make_jaxpr(functools.partial(value, **params))(*operands)
    look = find("jax._src.checkify:checkify_jaxpr")
    error, _ = look(*context, inside, enabled, error, *operands)
    return error, primitive.bind(*operands, **params)
