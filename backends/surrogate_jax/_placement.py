"""Arrays of one shape, sharded alike: what a rule selects among and multiplies must lie on the same devices.

Matters on a mesh with explicit axes, where the sharding is part of an array's type, and under
``shard_map``, where the mesh axes along which a value differs are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from surrogate_jax._hooks import vary, varying_axes


def vary_together(operands: Sequence[Any]) -> Sequence[Any]:
    """Under ``shard_map`` operands that differ along the same mesh axes, as JAX's own functions make them."""
    axes = [varying_axes(x) for x in operands]
    together = frozenset().union(*axes)
    return [x if own == together else vary(x, together - own) for x, own in zip(operands, axes, strict=True)]


def spread(x: Any, y: Any) -> Any:
    """``x`` in the shape of ``y`` and placed like it; its transpose sums what was repeated."""
    missing = varying_axes(y) - varying_axes(x)
    moved = vary(x, missing) if missing else x
    return to_shape(moved, jnp.shape(y), explicit_sharding(y))


def to_shape(x: Any, shape: tuple[int, ...], sharding: NamedSharding | None) -> Any:
    """``x`` broadcast to ``shape``, with this sharding where it is part of the type."""
    have = jnp.shape(x)
    if have == shape:
        return _placed(x, sharding)
    kept = [axis for axis, size in enumerate(have) if size == shape[axis - len(have)]]
    axes = [len(shape) - len(have) + axis for axis in kept]
    small = lax.squeeze(x, [axis for axis in range(len(have)) if axis not in kept])
    return lax.broadcast_in_dim(small, shape, axes, out_sharding=sharding)


def explicit_sharding(x: Any) -> NamedSharding | None:
    """Where the type of an array names its sharding, that sharding."""
    sharding: NamedSharding = jax.typeof(x).sharding
    return sharding if any(kind == AxisType.Explicit for kind in sharding.mesh.axis_types) else None


def common_sharding(arrays: Sequence[Any], shape: tuple[int, ...]) -> NamedSharding | None:
    """The sharding of what arrays that broadcast to ``shape`` give; None where no type names one."""
    found = [(x, sharding) for x in arrays if (sharding := explicit_sharding(x)) is not None]
    if not found:
        return None
    axes: list[Any] = [None] * len(shape)
    for x, sharding in found:
        first = len(shape) - jnp.ndim(x)
        for axis, name in enumerate(sharding.spec):
            if name is not None and jnp.shape(x)[axis] == shape[first + axis]:
                axes[first + axis] = axes[first + axis] or name
    return NamedSharding(found[0][1].mesh, PartitionSpec(*axes))


def _placed(x: Any, sharding: NamedSharding | None) -> Any:
    if sharding is None or explicit_sharding(x) == sharding:
        return x
    return jax.sharding.reshard(x, sharding)
