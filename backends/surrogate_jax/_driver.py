"""How the conformance kit drives JAX."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

Array = Any
Function = Callable[..., Array]


def _searchsorted(x: Array, boundaries: Array, side: str = "left") -> Array:
    return jnp.searchsorted(boundaries, x, side=side)


def _astype(x: Array, to: str = "integer") -> Array:
    return x.astype(bool if to == "bool" else int)


CALLS: dict[str, Function] = {
    "sign": jnp.sign,
    "round": jnp.round,
    "floor": jnp.floor,
    "ceil": jnp.ceil,
    "trunc": jnp.trunc,
    "mod": operator.mod,
    "fmod": jnp.fmod,
    "floor_divide": operator.floordiv,
    "heaviside": jnp.heaviside,
    "clip": jnp.clip,
    "relu": jax.nn.relu,
    "relu6": jax.nn.relu6,
    "abs": jnp.abs,
    "maximum": jnp.maximum,
    "minimum": jnp.minimum,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "less": operator.lt,
    "less_equal": operator.le,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "argmax": jnp.argmax,
    "argmin": jnp.argmin,
    "searchsorted": _searchsorted,
    "astype": _astype,
}
