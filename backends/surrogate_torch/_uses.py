"""How users of PyTorch write ops that give booleans and integers, and what they do with those."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  (as everybody writes it)

from surrogate import Spelling

Function = Callable[..., Any]


def _ordering(operation: Function, *names: str) -> dict[str, Function | Spelling]:
    found: dict[str, Function | Spelling] = {f"operator.{operation.__name__}": operation}
    for name in names:
        found |= {f"torch.{name}": getattr(torch, name), f"Tensor.{name}": getattr(torch.Tensor, name)}
    return found


def _argument(name: str) -> dict[str, Function | Spelling]:
    function, method, along = getattr(torch, name), getattr(torch.Tensor, name), {"axis": 1}
    return {
        f"torch.{name}": lambda x, axis=None, keepdims=False: function(x, dim=axis, keepdim=keepdims),
        f"torch.{name}(x, 1)": Spelling(lambda x: function(x, 1), attributes=along),
        f"x.{name}(-1)": Spelling(lambda x: method(x, -1), attributes=along),
        f"x.{name}(axis=1)": Spelling(lambda x: method(x, axis=1), attributes=along),
    }


def _to(name: str) -> Spelling:
    to = "bool" if name == "bool" else "integer"
    return Spelling(lambda x: getattr(x, name)(), attributes={"to": to})


def _astype(x: Any, to: str = "integer") -> Any:
    return x.to(torch.bool if to == "bool" else torch.int64)


SPELLINGS: dict[str, dict[str, Function | Spelling]] = {
    "greater": _ordering(operator.gt, "gt", "greater"),
    "greater_equal": _ordering(operator.ge, "ge", "greater_equal"),
    "less": _ordering(operator.lt, "lt", "less"),
    "less_equal": _ordering(operator.le, "le", "less_equal"),
    "equal": _ordering(operator.eq, "eq"),
    "not_equal": _ordering(operator.ne, "ne", "not_equal"),
    "argmax": _argument("argmax"),
    "argmin": _argument("argmin"),
    "astype": {
        "x.to(dtype)": _astype,
        **{f"x.{name}()": _to(name) for name in ("long", "int", "short", "bool")},
        "x.type(dtype)": lambda x: x.type(torch.int64),
    },
    "searchsorted": {
        "torch.searchsorted": lambda x, b, side="left": torch.searchsorted(b, x, side=side),
        "searchsorted(right)": Spelling(
            lambda x, b: torch.searchsorted(b, x, right=True), attributes={"side": "right"}
        ),
        "torch.bucketize": lambda x, b: torch.bucketize(x, b),
        "bucketize(right)": Spelling(
            lambda x, b: torch.bucketize(x, b, right=True), attributes={"side": "right"}
        ),
    },
}


def _number(d: Any) -> Any:
    """PyTorch subtracts no booleans."""
    return d.long() if d.dtype is torch.bool else d


def _changed(change: Function) -> Function:
    """An operation in place, on a tensor that may be changed."""

    def use(d: Any, o: Any) -> Any:
        x = o.u.clone()
        change(x, d)
        return x

    return use


def _put(x: Any, d: Any) -> None:
    x[d] = 0.75


def _to_a_constant(d: Any, o: Any) -> Any:
    x = torch.full_like(o.u, 2.0)
    x[d] = 0.75
    return x


def _multiplied(x: Any, d: Any) -> None:
    x *= d


def _row(d: Any, o: Any) -> Any:
    x = torch.zeros((3, 2, 3), dtype=o.u.dtype)
    x[1] = d
    return x.sum(0) * o.u


def _constant(d: Any, *values: int) -> Any:
    return torch.tensor(values, device=d.device)


def _column(i: Any) -> Any:
    return i[:, None]


CONSUMERS: Mapping[str, Mapping[str, Function]] = {
    "cast": {
        "b.to(dtype)": lambda d, o: d.to(o.u.dtype),
        "b.type_as(x)": lambda d, o: d.type_as(o.u),
        "b.to(x)": lambda d, o: d.to(o.u),
    },
    "times": {
        "b * x": lambda d, o: d * o.u,
        "x * b": lambda d, o: o.u * d,
        "torch.mul": lambda d, o: torch.mul(o.u, d),
        "x *= b": _changed(_multiplied),
        "x.mul_(b)": _changed(lambda x, d: x.mul_(d)),
    },
    "minus": {"x - b.long()": lambda d, o: o.u - _number(d), "-b + x": lambda d, o: -_number(d) + o.u},
    "plus": {
        "b + x": lambda d, o: d + o.u,
        "x + b": lambda d, o: o.u + d,
        "x += b": _changed(torch.Tensor.add_),
    },
    "sum": {
        "b.sum()": lambda d, o: d.sum() * o.u,
        "torch.sum": lambda d, o: torch.sum(d).to(o.u.dtype) * o.u,
    },
    "sum of an axis": {
        "b.sum(0)": lambda d, o: d.sum(0) * o.u,
        "b.sum(0, dtype=...)": lambda d, o: d.sum(0, dtype=o.u.dtype) * o.u,
    },
    "mean": {
        "b.double().mean(0)": lambda d, o: d.to(o.u.dtype).mean(0) * o.u,
        "b.mean(0, dtype=...)": lambda d, o: d.mean(0, dtype=o.u.dtype) * o.u,
    },
    "integer arithmetic": {"b.long() // 2 * 2 + 1": lambda d, o: (_number(d) // 2 * 2 + 1).to(o.u.dtype)},
    "negative": {"-b.long()": lambda d, o: -_number(d) * o.u},
    "reshape": {
        "b.view(3, 2)": lambda d, o: (d.view(3, 2) * o.table[:, :2]).view(2, 3),
        "b.reshape(3, 2)": lambda d, o: (d.reshape(3, 2) * o.table[:, :2]).reshape(2, 3),
        "b.flatten()": lambda d, o: (d.flatten() * o.table[:, :2].flatten()).view(2, 3),
    },
    "transpose": {
        "b.T": lambda d, o: (d.T * o.table[:, :2]).T,
        "b.permute(1, 0)": lambda d, o: (d.permute(1, 0) * o.table[:, :2]).T,
        "b.transpose(0, 1)": lambda d, o: (d.transpose(0, 1).contiguous() * o.table[:, :2]).T,
    },
    "slice": {
        "b[:, 1:2]": lambda d, o: d[:, 1:2] * o.u,
        "b[:, 1]": lambda d, o: d[:, 1][:, None] * o.u,
        "b.narrow": lambda d, o: d.narrow(1, 1, 1) * o.u,
    },
    "constant index": {
        "b[tensor]": lambda d, o: d[_constant(d, 1, 0)] * o.u,
        "b.index_select": lambda d, o: d.index_select(0, _constant(d, 1, 0)) * o.u,
        "b.flip(0)": lambda d, o: d.flip(0) * o.u,
        "b.roll(1, 0)": lambda d, o: d.roll(1, 0) * o.u,
    },
    "stack": {
        "torch.stack": lambda d, o: (torch.stack([d, d]) * torch.stack([o.u, o.v])).sum(0),
        "torch.stack with floats": lambda d, o: torch.stack([d * o.u, d * o.v]).sum(0),
    },
    "concatenate": {"torch.cat": lambda d, o: torch.cat([d, d], 1)[:, 2:5] * o.u},
    "expand": {
        "b.expand": lambda d, o: (d.expand(4, 2, 3) * o.u).sum(0),
        "b.repeat": lambda d, o: (d.repeat(4, 1, 1) * o.u).sum(0),
    },
    "squeeze": {
        "b[None].squeeze(0)": lambda d, o: d[None].squeeze(0) * o.u,
        "b.unsqueeze(1).squeeze(1)": lambda d, o: d.unsqueeze(1).squeeze(1) * o.u,
    },
    "split": {
        "b.split(1, 1)": lambda d, o: d.split(1, 1)[2] * o.u,
        "b.chunk(3, 1)": lambda d, o: d.chunk(3, 1)[2] * o.u,
        "b.unbind(1)": lambda d, o: d.unbind(1)[2][:, None] * o.u,
    },
    "to a device": {
        "b.to(device)": lambda d, o: d.to(o.u.device) * o.u,
        "b.cpu()": lambda d, o: d.cpu() * o.u,
        "x[1] = b": _row,
    },
    "where": {
        "torch.where": lambda d, o: torch.where(d, o.u, o.v),
        "u.where(b, v)": lambda d, o: o.u.where(d, o.v),
    },
    "where of numbers": {"torch.where": lambda d, o: torch.where(d, 3.0, 0.5) * o.u},
    "where, broadcast": {"torch.where": lambda d, o: torch.where(d[:, :1], o.u, o.v)},
    "masked assignment": {
        "masked_fill": lambda d, o: o.u.masked_fill(d, 0.75),
        "x[b] = number": _changed(_put),
        "masked_fill_": _changed(lambda x, d: x.masked_fill_(d, 0.75)),
    },
    "masked assignment to a constant": {"x[b] = number": _to_a_constant},
    "not": {"~b": lambda d, o: ~d * o.u, "logical_not": lambda d, o: torch.logical_not(d) * o.u},
    "and": {
        "b & m": lambda d, o: (d & o.mask) * o.u,
        "m & b": lambda d, o: (o.mask & d) * o.u,
        "logical_and": lambda d, o: d.logical_and(o.mask) * o.u,
    },
    "or": {"b | m": lambda d, o: (d | o.mask) * o.u, "logical_or": lambda d, o: d.logical_or(o.mask) * o.u},
    "xor": {
        "b ^ m": lambda d, o: (d ^ o.mask) * o.u,
        "logical_xor": lambda d, o: d.logical_xor(o.mask) * o.u,
    },
    "and of two with an origin": {"b & b.flip(1)": lambda d, o: (d & d.flip(1)) * o.u},
    "all": {"b.all(0)": lambda d, o: d.all(0) * o.u, "torch.all": lambda d, o: torch.all(d, dim=0) * o.u},
    "any": {"b.any(1)": lambda d, o: d.any(1, keepdim=True) * o.u},
    "count_nonzero": {"torch.count_nonzero": lambda d, o: torch.count_nonzero(d, 0) * o.u},
    "integer and back": {
        "b.int().bool()": lambda d, o: d.int().bool() * o.u,
        "b.long()": lambda d, o: d.long() * o.u,
    },
    "number": {
        "i.to(dtype)": lambda d, o: _column(d.to(o.u.dtype)) * o.u,
        "i * x": lambda d, o: _column(d) * o.u,
    },
    "arithmetic of an index": {"2 * i + 1": lambda d, o: _column((2 * d + 1).to(o.u.dtype)) * o.u},
    "one_hot": {"F.one_hot": lambda d, o: F.one_hot(d, 3).to(o.u.dtype) * o.u},
    "table": {
        "table[i]": lambda d, o: o.table[d],
        "F.embedding": lambda d, o: F.embedding(d, o.table),
        "index_select": lambda d, o: o.table.index_select(0, d),
    },
    "columns": {
        "table[:, i]": lambda d, o: o.table[:, d].T,
        "index_select": lambda d, o: torch.index_select(o.table, 1, d).T,
    },
    "take_along_axis": {
        "gather": lambda d, o: o.u.gather(1, _column(d)) * o.v,
        "take_along_dim": lambda d, o: torch.take_along_dim(o.u, _column(d), 1) * o.v,
    },
    "rows and index": {"x[rows, i]": lambda d, o: _column(o.u[_constant(d, 0, 1), d]) * o.v},
    "is a class": {"i == 1": lambda d, o: _column(d == 1) * o.u},
    "is each class": {"i[:, None] == classes": lambda d, o: (_column(d) == _constant(d, 0, 1, 2)) * o.u},
    "reshaped": {"table[i.view(2, 1)]": lambda d, o: o.table[d.view(2, 1).T.reshape(-1)]},
}
