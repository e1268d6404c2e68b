"""A faster kernel for the commonest rules: one mask, with 1 inside and 0 outside."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import tensorflow as tf

import surrogate

Tensor = Any


@lru_cache(maxsize=1024)
def is_plain_window(rule: surrogate.Rule) -> bool:
    """Whether the rule of a one-input op lets through what is inside its mask, and nothing else."""
    if rule.arity != 1 or rule.kept() is not surrogate.Kind.MASK:
        return False
    xp, mask, g = surrogate.reference.xp, np.array([True, False]), np.array([3.0, 5.0])
    return np.asarray(rule.vjp(xp, (mask,), g)[0]).tolist() == [3.0, 0.0]


def select(mask: Tensor, g: Tensor) -> Tensor:
    """``g`` inside the mask, else 0: half the time of a select between two full arrays."""
    return tf.raw_ops.SelectV2(condition=mask, t=g, e=0.0)
