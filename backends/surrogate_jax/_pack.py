"""Formulas for JAX's own primitives that come with the backend. Their sources: docs/natives.md."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.ndimage import map_coordinates

from surrogate import FormulaError, NativeCall, Positive


def guided(call: NativeCall, g: Any) -> Any:
    """The native derivative, of what is positive in the upstream gradient."""
    return call.native(jnp.where(g > 0, g, 0))


def deconvnet(call: NativeCall, g: Any) -> Any:
    """What is positive in the upstream gradient, whatever the operand was."""
    return jnp.where(g > 0, g, 0)


def spread(call: NativeCall, g: Any) -> Any:
    """Every element of a pooling window gets an equal share, padding none: the derivative of the mean."""
    names = "window_dimensions", "window_strides", "padding", "base_dilation", "window_dilation"
    where = [call.attributes[name] for name in names]

    def total(x: Any) -> Any:
        return jax.lax.reduce_window(x, 0.0, jax.lax.add, *where)

    x = call.inputs[0]
    return jax.vjp(total, x)[1](g / total(jnp.ones_like(x)))[0]


def soft(call: NativeCall, g: Any, *, temperature: Positive = 1.0) -> Any:
    """Every element of a pooling window gets its softmax's share: the derivative of a smooth maximum."""
    given, shape = call.attributes, g.shape
    step, gap = given["window_strides"], given["window_dilation"]
    if set(given["base_dilation"]) != {1}:
        raise FormulaError(f"soft is for operands without dilation, not {given['base_dilation']}.")

    def windows(x: Any) -> Any:
        around = [(low, high, 0) for low, high in given["padding"]]
        padded = jax.lax.pad(x, jnp.array(-jnp.inf, x.dtype), around)
        found = []
        for at in itertools.product(*map(range, given["window_dimensions"])):
            first = [i * d for i, d in zip(at, gap, strict=True)]
            last = [i + (n - 1) * s + 1 for i, n, s in zip(first, shape, step, strict=True)]
            found.append(jax.lax.slice(padded, first, last, step))
        return jnp.stack(found)

    found, back = jax.vjp(windows, call.inputs[0])
    return back(jax.nn.softmax(found / temperature, 0) * g)[0]


def softsort(call: NativeCall, g: Any, *, tau: Positive = 1.0) -> Any:
    """The derivative of softmax(-|s - x| / tau) @ x, with s the sorted values."""
    if len(call.inputs) > 1:
        raise FormulaError("softsort is for a sort of one array, not of one along with others.")
    axis = call.attributes.get("dimension", call.attributes.get("axis", -1))
    x, s, g = (jnp.moveaxis(array, axis, -1) for array in (call.inputs[0], call.outputs[0], g))
    far = s[..., :, None] - x[..., None, :]
    p = jax.nn.softmax(-jnp.abs(far) / tau)
    y = (p * x[..., None, :]).sum(-1, keepdims=True)
    by_far = jnp.sign(far) * p * g[..., None] * (y - x[..., None, :]) / tau
    by_x = (p * g[..., None]).sum(-2) - by_far.sum(-2)
    return jnp.moveaxis(by_x, -1, axis) + call.native(jnp.moveaxis(by_far.sum(-1), -1, axis))


def finite_root(call: NativeCall, g: Any) -> Any:
    """The root's derivative, and 0 where the root is 0."""
    root = call.outputs[0]
    return jnp.where(root > 0, g / (2 * jnp.where(root > 0, root, 1)), 0)


def finite_norm(call: NativeCall, g: Any) -> Any:
    """The norm's derivative, and 0 where the norm is 0."""
    # the norm's axes are inside of its jaxpr: where it is 0 the derivative by finite elements is not finite
    at_zero = ~jnp.isfinite(call.native(jnp.ones_like(g))) & jnp.isfinite(call.inputs[0])
    return jnp.where(at_zero, 0, call.native(jnp.where(call.outputs[0] == 0, 0, g)))


def bilinear(call: NativeCall, g: Any) -> Any:
    """The coordinates get the derivative of linear interpolation; the array keeps its own, which is right."""
    array, *coordinates = call.inputs
    rest = call.attributes.get("mode", "constant"), call.attributes.get("cval", 0.0)

    def sampled(array: Any, coordinates: Any, order: int) -> Any:
        return map_coordinates(array, coordinates, order, *rest)

    order = call.attributes["order"]
    return (
        jax.vjp(lambda array: sampled(array, coordinates, order), array)[1](g)[0],
        *jax.vjp(lambda coordinates: sampled(array, coordinates, 1), coordinates)[1](g)[0],
    )


def interpolated(call: NativeCall, g: Any) -> Any:
    """``gather``: an index gets the slope from the entry that it names to the next along its axis."""
    table, indices = call.inputs
    numbers, sizes = call.attributes["dimension_numbers"], call.attributes["slice_sizes"]
    rest = {**call.attributes, "mode": "clip", "fill_value": None}

    def looked_up(indices: Any) -> Any:
        return jax.lax.gather(table, indices, **rest)

    def by(k: int) -> Any:
        axis = numbers.start_index_map[k]
        last = table.shape[axis] - sizes[axis]
        beyond = indices.at[..., k].set(jnp.clip(indices[..., k] + 1, 0, last))
        return jnp.sum(g * (looked_up(beyond) - looked_up(indices)), numbers.offset_dims)

    if not call.wanted[1]:
        return call.native(g)
    return call.native(g)[0], jnp.stack([by(k) for k in range(indices.shape[-1])], -1)


def interpolated_slice(call: NativeCall, g: Any) -> Any:
    """``dynamic_slice``: a start gets the slope from what begins there to what begins at the next place."""
    table, *starts = call.inputs
    sizes = call.attributes["slice_sizes"]

    def by(k: int) -> Any:
        last = table.shape[k] - sizes[k]
        at = jnp.clip(starts[k], 0, last)
        beyond = [jnp.minimum(at + 1, last) if i == k else start for i, start in enumerate(starts)]
        return jnp.sum(g * (jax.lax.dynamic_slice(table, beyond, sizes) - call.outputs[0]))

    native = call.native(g)
    return native[0], *(by(k) if one else None for k, one in enumerate(call.wanted[1:]))


#: Functions of JAX's that are written in Python -> formulas by name.
FUNCTIONS = {map_coordinates: {"bilinear": bilinear}}
#: primitive -> formulas by name.
PACK: dict[str, dict[str, Callable[..., Any]]] = {
    "reduce_window_max": {"spread": spread, "soft": soft},
    "sort": {"softsort": softsort},
    "top_k": {"softsort": softsort},
    "sqrt": {"finite": finite_root},
    "jit:norm": {"finite": finite_norm},
    "gather": {"interpolated": interpolated},
    "dynamic_slice": {"interpolated": interpolated_slice},
}
#: Formulas of every primitive.
EVERY = {"guided": guided, "deconvnet": deconvnet}
