"""Tensors that are not one dense block: sparse ones and nested ones of strided layout.

A formula is written for dense tensors, so the op is run on the stored values, where it is captured as
usual, and the tensor is put together again. PyTorch does the same in its own kernels, for ops that keep 0.
A dense tensor may have a sparse upstream gradient, from ``embedding(sparse=True)``: it stays sparse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

Vjp = Callable[[Sequence[Any], Any], Sequence[Any]]

_COMPRESSED = (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)


def is_dense(x: Any) -> bool:
    """Whether a formula can be evaluated on the tensor itself."""
    return (x.layout is torch.strided and not x.is_nested) or x.layout is torch.jagged


def on_values(op: Callable[[Any], Any], x: Any) -> Any:
    """``op(x)`` by the values that ``x`` stores; differentiable.

    Raises:
        NotImplementedError: there is no way to the values of this layout that PyTorch differentiates.
    """
    if x.is_nested:
        return torch.nested.as_nested_tensor([op(part) for part in x.unbind()])
    if x.layout is torch.sparse_coo:
        x = x.coalesce()
        return torch.sparse_coo_tensor(x.indices(), op(x.values()), x.size(), is_coalesced=True)
    if x.layout in _COMPRESSED:
        return on_values(op, x.to_sparse_coo()).to_sparse(layout=x.layout, blocksize=_blocks(x))
    raise _no_way(str(op), x)


def at_entries(vjp: Vjp, saved: Sequence[Any], g: Any) -> Sequence[Any]:
    """``vjp(saved, g)`` of a derivative for a sparse ``g``: where that has no entry, the product has none.

    Args:
        vjp: elementwise, and linear in ``g``; gives tensors of the shape of ``g``, or None.
        saved: dense tensors of shapes that broadcast to that of ``g``, and Python numbers.
        g: a COO tensor.
    """
    g = g.coalesce()
    at = tuple(g.indices())
    found = vjp([v.expand(g.shape)[at] if isinstance(v, torch.Tensor) else v for v in saved], g.values())
    return [
        None if c is None else torch.sparse_coo_tensor(g.indices(), c, g.shape, is_coalesced=True)
        for c in found
    ]


def refuse_sparse(op: str, inputs: Sequence[Any]) -> None:
    """An op of several inputs has no such way.

    Raises:
        NotImplementedError: one of them is not dense.
    """
    for x in inputs:
        if isinstance(x, torch.Tensor) and not is_dense(x):
            raise _no_way(op, x)


def _no_way(op: str, x: Any) -> NotImplementedError:
    layout = "nested" if x.is_nested else x.layout
    return NotImplementedError(
        f"surrogate has no gradient of {op} for a tensor of layout {layout}: make it dense before, or "
        f"leave the op native with surrogate.override('torch', {{{op!r}: 'native'}})."
    )


def _blocks(x: Any) -> tuple[int, int] | None:
    blocked = x.layout in (torch.sparse_bsr, torch.sparse_bsc)
    return tuple(x.values().shape[-2:]) if blocked else None
