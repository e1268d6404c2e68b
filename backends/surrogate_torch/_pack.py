"""Formulas for PyTorch's own operators that come with the backend. Their sources: docs/natives.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 -- as everybody writes it

from surrogate import FormulaError, NativeCall, Positive

POOL = "aten::max_pool2d_with_indices"
POOL_3D = "aten::max_pool3d_with_indices"


def guided(call: NativeCall, g: Any) -> Any:
    """The native derivative, of what is positive in the upstream gradient."""
    return call.native(torch.where(g > 0, g, 0))


def deconvnet(call: NativeCall, g: Any) -> Any:
    """What is positive in the upstream gradient, whatever the operand was."""
    return torch.where(g > 0, g, 0)


def spread(call: NativeCall, g: Any) -> Any:
    """Every element of a pooling window gets an equal share, padding none: the derivative of the mean."""
    return _share(call, g, torch.ops.aten.avg_pool2d_backward)


def spread_3d(call: NativeCall, g: Any) -> Any:
    """Every element of a pooling window gets an equal share, padding none: the derivative of the mean."""
    return _share(call, g, torch.ops.aten.avg_pool3d_backward)


def _share(call: NativeCall, g: Any, backward: Callable[..., Any]) -> Any:
    given = call.attributes
    if set(given["dilation"]) != {1}:
        raise FormulaError(f"spread is for windows without dilation, not {given['dilation']}.")
    where = given["kernel_size"], given["stride"] or given["kernel_size"], given["padding"]
    return backward(g, call.inputs[0], *where, given["ceil_mode"], False, None)


def soft(call: NativeCall, g: Any, *, temperature: Positive = 1.0) -> Any:
    """Every element of a pooling window gets its softmax's share: the derivative of a smooth maximum."""
    x, given = call.inputs[0], call.attributes
    window = _pair(given["kernel_size"])
    step, pad, gap = (_pair(given[name]) for name in ("stride", "padding", "dilation"))
    step = step or window
    rows, columns = x.shape[-2:]
    # as far as the last window reaches, which may be beyond the padding (ceil_mode), or less
    ends = [(n - 1) * s + d * (k - 1) + 1 for n, s, d, k in zip(g.shape[-2:], step, gap, window, strict=True)]
    margins = pad[1], ends[1] - columns - pad[1], pad[0], ends[0] - rows - pad[0]
    planes = F.pad(x.reshape(-1, 1, rows, columns), margins, value=-torch.inf)
    patches = F.unfold(planes, window, gap, 0, step)
    shares = torch.softmax(patches / temperature, 1) * g.reshape(len(planes), 1, -1)
    whole = F.fold(shares, ends, window, gap, 0, step)
    return F.pad(whole, [-margin for margin in margins]).reshape(x.shape)


def _pair(given: Any) -> tuple[int, ...]:
    return tuple(given) * 2 if len(given) == 1 else tuple(given)


def softsort(call: NativeCall, g: Any, *, tau: Positive = 1.0) -> Any:
    """The derivative of softmax(-|s - x| / tau) @ x, with s the sorted values."""
    x, dim = call.inputs[0], call.attributes["dim"]
    if x.dim() == 0:
        return call.native(g)
    x, s, g = (array.movedim(dim, -1) for array in (x, call.outputs[0], g))
    far = s.unsqueeze(-1) - x.unsqueeze(-2)
    p = torch.softmax(-far.abs() / tau, -1)
    y = (p * x.unsqueeze(-2)).sum(-1, keepdim=True)
    by_far = far.sign() * p * g.unsqueeze(-1) * (y - x.unsqueeze(-2)) / tau
    by_x = (p * g.unsqueeze(-1)).sum(-2) - by_far.sum(-2)
    return by_x.movedim(-1, dim) + call.native(by_far.sum(-1).movedim(-1, dim))


def finite_root(call: NativeCall, g: Any) -> Any:
    """The root's derivative, and 0 where the root is 0."""
    root = call.outputs[0]
    return torch.where(root > 0, g / (2 * torch.where(root > 0, root, 1)), 0)


def finite_norm(call: NativeCall, g: Any) -> Any:
    """The norm's derivative, and 0 where the norm is 0."""
    x, norm = call.inputs[0], call.outputs[0]
    dim = call.attributes.get("dim")
    if dim and not call.attributes.get("keepdim"):
        for axis in sorted(axis % x.dim() for axis in dim):
            norm = norm.unsqueeze(axis)
    return torch.where(norm == 0, 0, call.native(g))


def bilinear(call: NativeCall, g: Any) -> Any:
    """The grid gets the derivative of bilinear interpolation; the image keeps its own, which is right."""
    return _sampled(call, g, torch.ops.aten.grid_sampler_2d_backward)


def bilinear_3d(call: NativeCall, g: Any) -> Any:
    """The grid gets the derivative of trilinear interpolation; the image keeps its own, which is right."""
    return _sampled(call, g, torch.ops.aten.grid_sampler_3d_backward)


def _sampled(call: NativeCall, g: Any, backward: Callable[..., Any]) -> tuple[Any, Any]:
    given = call.attributes
    rest = given["padding_mode"], given["align_corners"]
    image, _ = backward(g, *call.inputs, given["interpolation_mode"], *rest, [True, False])
    _, grid = backward(g, *call.inputs, 0, *rest, [False, True])
    return image, grid


def interpolated(call: NativeCall, g: Any) -> Any:
    """``table[i, j]``: an index gets the slope from the entry that it names to the next along its axis."""
    table, *indices = call.inputs
    if not any(call.wanted[1:]):
        return call.native(g)
    if any(index.dtype is torch.bool for index in indices):
        raise FormulaError("interpolated is for a look-up by integers, not by a mask or beside one.")
    axes = [int(name.rpartition("[")[2].rstrip("]")) for name in call.inputs.names[1:]]
    rest = [axis for axis in range(table.dim()) if axis not in axes]
    rows = table.permute(*axes, *rest)
    shape = torch.broadcast_shapes(*(index.shape for index in indices))
    n = len(shape)
    side_by_side = axes == list(range(axes[0], axes[-1] + 1))
    first = axes[0] if side_by_side else 0  # where the result has the axes of the indices
    upstream = g.movedim(list(range(first, first + n)), list(range(n)))

    def by(at: int) -> Any:
        beyond = [_next(i, table.shape[axes[at]]) if k == at else i for k, i in enumerate(indices)]
        slope = rows[tuple(beyond)] - rows[tuple(indices)]
        return (upstream * slope).reshape(*shape, -1).sum(-1).sum_to_size(indices[at].shape)

    wanted = enumerate(call.wanted[1:])
    return _by_table(call, g), *(by(at) if one else None for at, one in wanted)


def _next(i: Any, n: int) -> Any:
    """The place after ``i``; the last has none, and stays."""
    return (i % n + 1).clamp(max=n - 1)


def _by_table(call: NativeCall, g: Any) -> Any:
    """The native cotangent of what is looked up in."""
    if not call.wanted[0]:
        return None
    found = call.native(g)
    return found[0] if isinstance(found, tuple) else found


def interpolated_gather(call: NativeCall, g: Any) -> Any:
    """An index gets the slope from the entry that it names to the next along the axis."""
    (x, i), dim = call.inputs, call.attributes["dim"]
    if not x.dim():
        return _by_table(call, g), torch.zeros_like(g)
    slope = x.gather(dim, _next(i, x.shape[dim])) - x.gather(dim, i)
    return _by_table(call, g), g * slope


def interpolated_select(call: NativeCall, g: Any) -> Any:
    """An index gets the slope from the row that it names to the next."""
    (x, i), dim = call.inputs, call.attributes["dim"]
    if not x.dim():
        return _by_table(call, g), torch.zeros_like(i, dtype=g.dtype)
    slope = x.index_select(dim, _next(i, x.shape[dim])) - x.index_select(dim, i)
    by = (g * slope).movedim(dim, 0).reshape(i.numel(), -1)
    return _by_table(call, g), by.sum(-1).reshape(i.shape)


def interpolated_rows(call: NativeCall, g: Any) -> Any:
    """``embedding``: an index gets the slope from the row that it names to the next."""
    table, i = call.inputs
    slope = table[_next(i, len(table))] - table[i]
    return _by_table(call, g), (g * slope).sum(-1)


def interpolated_take(call: NativeCall, g: Any) -> Any:
    """``take``: an index gets the slope from the entry that it names to the next of the flat array."""
    x, i = call.inputs
    return _by_table(call, g), g * (x.take(_next(i, x.numel())) - x.take(i))


#: native name -> formulas by name.
PACK: dict[str, dict[str, Callable[..., Any]]] = {
    POOL: {"spread": spread, "soft": soft},
    POOL_3D: {"spread": spread_3d},
    "aten::sort": {"softsort": softsort},
    "aten::topk": {"softsort": softsort},
    "aten::sqrt": {"finite": finite_root},
    "aten::linalg_vector_norm": {"finite": finite_norm},
    "aten::grid_sampler_2d": {"bilinear": bilinear},
    "aten::grid_sampler_3d": {"bilinear": bilinear_3d},
    "aten::index": {"interpolated": interpolated},
    "aten::gather": {"interpolated": interpolated_gather},
    "aten::index_select": {"interpolated": interpolated_select},
    "aten::embedding": {"interpolated": interpolated_rows},
    "aten::take": {"interpolated": interpolated_take},
}
#: Formulas of every operator.
EVERY = {"guided": guided, "deconvnet": deconvnet}
