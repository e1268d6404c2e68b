"""How users of JAX write what is done with booleans and integers: for the kit."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from surrogate import Spelling

Function = Callable[..., Any]


def _ordering(operation: Function, name: str, short: str) -> dict[str, Function | Spelling]:
    return {
        f"operator.{operation.__name__}": operation,
        f"jnp.{name}": getattr(jnp, name),
        f"lax.{short}": getattr(lax, short),
    }


def _argument(name: str) -> dict[str, Function | Spelling]:
    function, primitive, along = getattr(jnp, name), getattr(lax, name), {"axis": 1}
    return {
        f"jnp.{name}": function,
        f"jnp.{name}(x, -1)": Spelling(lambda x: function(x, -1), attributes=along),
        f"x.{name}(axis=1)": Spelling(lambda x: getattr(x, name)(axis=1), attributes=along),
        f"lax.{name}": Spelling(lambda x: primitive(x, 1, np.int32), attributes=along),
    }


def _astype(x: Any, to: str = "integer") -> Any:
    return x.astype(bool if to == "bool" else int)


_RIGHT = {"side": "right"}

SPELLINGS: dict[str, dict[str, Function | Spelling]] = {
    "greater": _ordering(operator.gt, "greater", "gt"),
    "greater_equal": _ordering(operator.ge, "greater_equal", "ge"),
    "less": _ordering(operator.lt, "less", "lt"),
    "less_equal": _ordering(operator.le, "less_equal", "le"),
    "equal": _ordering(operator.eq, "equal", "eq"),
    "not_equal": _ordering(operator.ne, "not_equal", "ne"),
    "argmax": _argument("argmax"),
    "argmin": _argument("argmin"),
    "astype": {
        "x.astype": _astype,
        "jnp.astype": lambda x: jnp.astype(x, jnp.int32),
        "jnp.asarray": lambda x: jnp.asarray(x, dtype=jnp.int32),
        "jnp.int32": lambda x: jnp.int32(x),
        "lax.convert_element_type": lambda x: lax.convert_element_type(x, jnp.int16),
        "x.astype(bool)": Spelling(lambda x: x.astype(bool), attributes={"to": "bool"}),
    },
    "searchsorted": {
        "jnp.searchsorted": lambda x, b, side="left": jnp.searchsorted(b, x, side=side),
        "searchsorted(right)": Spelling(lambda x, b: jnp.searchsorted(b, x, side="right"), attributes=_RIGHT),
        "jnp.digitize": Spelling(lambda x, b: jnp.digitize(x, b), attributes=_RIGHT),
        "digitize(right=True)": lambda x, b: jnp.digitize(x, b, right=True),
    },
}


def _column(i: Any) -> Any:
    return i[:, None]


_SWAPPED, _ROWS, _CLASSES = np.array([1, 0]), np.arange(2), np.arange(3)

CONSUMERS: Mapping[str, Mapping[str, Function]] = {
    "cast": {
        "b.astype": lambda d, o: d.astype(o.u.dtype),
        "lax.convert_element_type": lambda d, o: lax.convert_element_type(d, o.u.dtype),
        "jnp.asarray": lambda d, o: jnp.asarray(d, dtype=o.u.dtype),
    },
    "times": {
        "b * x": lambda d, o: d * o.u,
        "x * b": lambda d, o: o.u * d,
        "jnp.multiply": lambda d, o: jnp.multiply(d, o.u),
    },
    "minus": {"x - b": lambda d, o: o.u - d, "1.0 - b": lambda d, o: (1.0 - d) + (o.u - 1)},
    "plus": {"b + x": lambda d, o: d + o.u, "b + 0.5": lambda d, o: (d + 0.5) + (o.u - 0.5)},
    "sum": {
        "b.sum()": lambda d, o: d.sum() * o.u,
        "jnp.sum": lambda d, o: jnp.sum(d).astype(o.u.dtype) * o.u,
    },
    "sum of an axis": {
        "b.sum(0)": lambda d, o: d.sum(0) * o.u,
        "jnp.sum(dtype)": lambda d, o: jnp.sum(d, axis=0, dtype=o.u.dtype) * o.u,
    },
    "mean": {"b.mean(0)": lambda d, o: d.mean(0) * o.u, "jnp.mean": lambda d, o: jnp.mean(d, axis=0) * o.u},
    "integer arithmetic": {"i // 2 * 2 + 1": lambda d, o: (d.astype(int) // 2 * 2 + 1).astype(o.u.dtype)},
    "negative": {"-i": lambda d, o: -d.astype(int) * o.u},
    "reshape": {
        "b.reshape": lambda d, o: (d.reshape(3, 2) * o.table[:, :2]).reshape(2, 3),
        "b.ravel()": lambda d, o: (d.ravel() * o.table[:, :2].ravel()).reshape(2, 3),
    },
    "transpose": {
        "b.T": lambda d, o: (d.T * o.table[:, :2]).T,
        "jnp.swapaxes": lambda d, o: (jnp.swapaxes(d, 0, 1) * o.table[:, :2]).T,
        "jnp.moveaxis": lambda d, o: (jnp.moveaxis(d, 0, -1) * o.table[:, :2]).T,
    },
    "slice": {
        "b[:, 1:2]": lambda d, o: d[:, 1:2] * o.u,
        "b[:, 1]": lambda d, o: d[:, 1][:, None] * o.u,
        "lax.dynamic_slice": lambda d, o: lax.dynamic_slice(d, (0, 1), (2, 1)) * o.u,
    },
    "constant index": {
        "b[array]": lambda d, o: d[_SWAPPED] * o.u,
        "jnp.take": lambda d, o: jnp.take(d, _SWAPPED, axis=0) * o.u,
        "b[::-1]": lambda d, o: d[::-1] * o.u,
        "jnp.roll": lambda d, o: jnp.roll(d, 1, axis=0) * o.u,
    },
    "stack": {"jnp.stack": lambda d, o: (jnp.stack([d, d]) * jnp.stack([o.u, o.v])).sum(0)},
    "concatenate": {
        "jnp.concatenate": lambda d, o: jnp.concatenate([d, d], axis=1)[:, 2:5] * o.u,
        "jnp.hstack": lambda d, o: jnp.hstack([d, d])[:, 2:5] * o.u,
    },
    "expand": {
        "jnp.broadcast_to": lambda d, o: (jnp.broadcast_to(d, (4, 2, 3)) * o.u).sum(0),
        "jnp.tile": lambda d, o: (jnp.tile(d, (4, 1, 1)) * o.u).sum(0),
        "jnp.repeat": lambda d, o: (jnp.repeat(d[None], 4, axis=0) * o.u).sum(0),
    },
    "squeeze": {
        "b[None].squeeze(0)": lambda d, o: d[None].squeeze(0) * o.u,
        "jnp.expand_dims": lambda d, o: jnp.squeeze(jnp.expand_dims(d, 1), 1) * o.u,
    },
    "split": {"jnp.split": lambda d, o: jnp.split(d, 3, axis=1)[2] * o.u},
    "to a device": {"jax.device_put": lambda d, o: jax.device_put(d, jax.devices()[0]) * o.u},
    "where": {
        "jnp.where": lambda d, o: jnp.where(d, o.u, o.v),
        "lax.select": lambda d, o: lax.select(d, o.u, o.v),
        "lax.select_n": lambda d, o: lax.select_n(d, o.v, o.u),
    },
    "where of numbers": {"jnp.where": lambda d, o: jnp.where(d, 3.0, 0.5) * o.u},
    "where, broadcast": {"jnp.where": lambda d, o: jnp.where(d[:, :1], o.u, o.v)},
    "masked assignment": {
        "jnp.where": lambda d, o: jnp.where(d, 0.75, o.u),  # as it has to be written under jit
        "x.at[b].set": lambda d, o: o.u.at[d].set(0.75),
    },
    "masked assignment to a constant": {
        "jnp.where": lambda d, o: jnp.where(d, 0.75, jnp.full_like(o.u, 2.0)),
        "x.at[b].set": lambda d, o: jnp.full_like(o.u, 2.0).at[d].set(0.75),
    },
    "not": {"~b": lambda d, o: ~d * o.u, "jnp.logical_not": lambda d, o: jnp.logical_not(d) * o.u},
    "and": {
        "b & m": lambda d, o: (d & o.mask) * o.u,
        "m & b": lambda d, o: (o.mask & d) * o.u,
        "jnp.logical_and": lambda d, o: jnp.logical_and(d, o.mask) * o.u,
    },
    "or": {
        "b | m": lambda d, o: (d | o.mask) * o.u,
        "jnp.logical_or": lambda d, o: jnp.logical_or(d, o.mask) * o.u,
    },
    "xor": {
        "b ^ m": lambda d, o: (d ^ o.mask) * o.u,
        "jnp.logical_xor": lambda d, o: jnp.logical_xor(d, o.mask) * o.u,
    },
    "and of two with an origin": {"b & b[:, ::-1]": lambda d, o: (d & d[:, ::-1]) * o.u},
    "all": {"b.all(0)": lambda d, o: d.all(0) * o.u, "jnp.all": lambda d, o: jnp.all(d, axis=0) * o.u},
    "any": {"jnp.any": lambda d, o: jnp.any(d, axis=1, keepdims=True) * o.u},
    "count_nonzero": {"jnp.count_nonzero": lambda d, o: jnp.count_nonzero(d, axis=0) * o.u},
    "integer and back": {"b.astype(int).astype(bool)": lambda d, o: d.astype(int).astype(bool) * o.u},
    "number": {
        "i.astype": lambda d, o: _column(d.astype(o.u.dtype)) * o.u,
        "i * x": lambda d, o: _column(d) * o.u,
    },
    "arithmetic of an index": {"2 * i + 1": lambda d, o: _column(2 * d + 1) * o.u},
    "one_hot": {
        "jax.nn.one_hot": lambda d, o: jax.nn.one_hot(d, 3, dtype=o.u.dtype) * o.u,
        "jnp.eye(3)[i]": lambda d, o: jnp.eye(3, dtype=o.u.dtype)[d] * o.u,
    },
    "table": {"table[i]": lambda d, o: o.table[d], "jnp.take": lambda d, o: jnp.take(o.table, d, axis=0)},
    "columns": {
        "table[:, i]": lambda d, o: o.table[:, d].T,
        "jnp.take": lambda d, o: jnp.take(o.table, d, axis=1).T,
    },
    "take_along_axis": {
        "jnp.take_along_axis": lambda d, o: jnp.take_along_axis(o.u, _column(d), axis=1) * o.v,
    },
    "rows and index": {"x[rows, i]": lambda d, o: _column(o.u[_ROWS, d]) * o.v},
    "is a class": {"i == 1": lambda d, o: _column(d == 1) * o.u},
    "is each class": {"i[:, None] == classes": lambda d, o: (_column(d) == _CLASSES) * o.u},
    "reshaped": {"table[i.reshape(2, 1)]": lambda d, o: o.table[d.reshape(2, 1).T.ravel()]},
}
