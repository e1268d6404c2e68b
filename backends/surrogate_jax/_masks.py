"""``x.at[mask].set(number)``: outside of ``jit`` JAX takes the mask for a constant.

Where the mask has an origin it is a choice: the same value, by ``jnp.where``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from surrogate_jax._entered import concerned
from surrogate_jax._hooks import AT, Undo, find, replace

Function = Callable[..., Any]


def install() -> list[Undo]:
    """Look at such calls first; returns how to take that away."""
    return [replace(find(AT), "set", _setting)]


def _setting(native: Function) -> Function:
    @functools.wraps(native)
    def call(self: Any, values: Any, **kwargs: Any) -> Any:
        mask, x = self.index, self.array
        if not (isinstance(mask, jax.Array) and concerned([mask]) and _chooses(mask, x, values)):
            return native(self, values, **kwargs)
        full = jnp.reshape(mask, mask.shape + (1,) * (x.ndim - mask.ndim))
        return jnp.where(full, jnp.asarray(values).astype(x.dtype), x)

    return call


def _chooses(mask: Any, x: Any, values: Any) -> bool:
    """Whether a number is put where a mask holds. A mask that is traced is an error of JAX's."""
    is_mask = mask.dtype == bool and not isinstance(mask, jax.core.Tracer)
    fits = mask.ndim <= x.ndim and mask.shape == x.shape[: mask.ndim]
    return bool(is_mask and fits and jnp.ndim(values) == 0 and jnp.issubdtype(x.dtype, jnp.floating))
