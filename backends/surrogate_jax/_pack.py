"""Formulas for JAX's own primitives that come with the backend."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from surrogate import NativeCall


def spread(call: NativeCall, g: Any) -> Any:
    """Every element of a pooling window gets an equal share: the derivative of the mean."""
    given = call.attributes
    window = given["window_dimensions"]

    def mean(x: Any) -> Any:
        where = given["window_strides"], given["padding"], given["base_dilation"], given["window_dilation"]
        total = jax.lax.reduce_window(x, 0.0, jax.lax.add, window, *where)
        return total / math.prod(window)

    return jax.vjp(mean, call.inputs[0])[1](g)[0]


def finite(call: NativeCall, g: Any) -> Any:
    """The root's derivative, and 0 where the root is 0."""
    root = call.outputs[0]
    return jnp.where(root > 0, g / (2 * jnp.where(root > 0, root, 1)), 0)


#: primitive -> formulas by name.
PACK = {"reduce_window_max": {"spread": spread}, "sqrt": {"finite": finite}}
