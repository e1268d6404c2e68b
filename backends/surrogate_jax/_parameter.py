"""Arrays and variables as JAX arrays: what a gradient's parameters are where they are no numbers.

A variable is a reference that traced code reads when it runs: it may change, and nothing is traced again.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import eval_context

import surrogate


class _Dial:
    """A reference in one dtype that follows a variable."""

    def __init__(self, array: Any, dtype: Any) -> None:
        self._dtype = dtype
        with eval_context():  # made while a function is traced, it outlives the trace
            self.ref = jax.new_ref(jnp.asarray(array, dtype))

    def set(self, array: Any) -> None:
        with eval_context():
            self.ref[...] = jnp.asarray(array, self._dtype)


def parameter(value: surrogate.ParameterValue, like: Any) -> Any:
    """The array of a value now, in the dtype of ``like``, or float32 if that is narrower."""
    dtype = np.dtype(np.float32) if like.dtype.itemsize < 4 else np.dtype(like.dtype)
    if not value.changes:
        return jnp.asarray(value.array, dtype)
    return value.mirror(("jax", dtype), lambda array: _Dial(array, dtype)).ref[...]
