"""Autograd nodes between handles: zeros, with a linear map as their derivative.

Their value is -0.0, which added to any number gives that number to the last bit.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch._functorch.utils import enable_single_level_autograd_function
from torch._guards import TracingContext
from torch.autograd.function import _SingleLevelFunction

from surrogate_torch._modes import in_forward
from surrogate_torch._plain import in_forward_mode
from surrogate_torch._scope import EVERY, suspended

_below_autograd = torch._C._AutoDispatchBelowAutograd
_in_transform = torch._C._are_functorch_transforms_active
_modes = torch._C._len_torch_dispatch_stack
_tracing = TracingContext.try_get
_unpack_dual = torch._C._VariableFunctions._unpack_dual

#: The dispatch key of the kernels for tensors with an origin; PyTorch has it for tests.
KEY = "TESTING_ONLY_GenericMode"
_KEYS = torch._C.DispatchKeySet(torch._C._parse_dispatch_key(KEY))
_excluding = torch._C._ExcludeDispatchKeyGuard

Map = Callable[..., Any]


class Maps(NamedTuple):
    """A linear function of a handle, and of a factor.

    Attributes:
        push, pull: its tangent ``push(t, factor)`` and cotangent ``pull(g, factor)``.
        cross: ``cross(handle, g)``, zeros: the factor's cotangent; None where it has none.
    """

    push: Map
    pull: Map
    cross: Map | None = None


def zeros(like: Any, shape: Sequence[int], dtype: Any = None) -> Any:
    """-0.0 in a shape: one number in memory, seen many times, but where a tangent has to lie beside it."""
    dtype = dtype or like.dtype
    if in_forward_mode():
        return like.new_full(shape, -0.0, dtype=dtype)
    if type(like) is torch.Tensor and not _modes() and _tracing() is None:
        return _one(dtype, like.device).expand(shape)
    return like.new_full((), -0.0, dtype=dtype).expand(shape)


@functools.cache
def _one(dtype: Any, device: Any) -> Any:
    with torch.inference_mode(False):
        return torch.full((), -0.0, dtype=dtype, device=device)


class Linear(_SingleLevelFunction):
    """Zeros whose tangent is ``push(t, factor)`` and whose cotangent ``pull(g, factor)``.

    The factor's cotangent is zero too, yet a function of what the handle stands for: ``cross(handle, g)``.
    It is made for second derivatives alone.
    """

    @staticmethod
    def _compiled_autograd_key(ctx: Any) -> tuple[int, int]:
        return (ctx._autograd_function_id, hash(ctx.maps))

    @staticmethod
    def forward(ctx: Any, shape: Sequence[int], maps: Maps, handle: Any, factor: Any) -> Any:
        ctx.maps, ctx.shape, ctx.dtype = maps, handle.shape, handle.dtype
        crosses = maps.cross is not None and ctx.needs_input_grad[3]
        ctx.save_for_backward(factor, *((handle,) if crosses else ()))
        ctx.save_for_forward(factor)
        with _below_autograd():
            return zeros(handle, shape)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        factor, *handle = ctx.saved_tensors
        found = suspended(EVERY, ctx.maps.pull, g, factor).sum_to_size(ctx.shape)
        by_factor = None
        if handle and torch.is_grad_enabled():
            by_factor = ctx.maps.cross(*handle, g).sum_to_size(factor.shape).to(factor.dtype)
        return None, None, found.to(ctx.dtype), by_factor

    @staticmethod
    def jvp(ctx: Any, _shape: Any, _maps: Any, tangent: Any, _factor: Any) -> Any:
        (factor,) = ctx.saved_tensors
        nested = _in_transform()
        if nested:
            factor = _unpack_dual(factor, 0)[0]
        found = suspended(EVERY, in_forward, nested, ctx.maps.push, tangent, factor)
        return found.to(ctx.dtype)


def linear(shape: Sequence[int], maps: Maps, handle: Any, factor: Any) -> Any:
    """The handle of a linear function of what ``handle`` stands for."""
    if not _in_transform():
        return Linear.apply(shape, maps, handle, factor)
    with enable_single_level_autograd_function():
        return Linear.apply(shape, maps, handle, factor)


def _product(v: Any, factor: Any) -> Any:
    return v * factor


def scaled(handle: Any, factor: Any) -> Any:
    """Of ``factor`` times what the handle stands for; shapes broadcast."""
    shape = torch.broadcast_shapes(handle.shape, factor.shape)
    return linear(shape, _PRODUCT, handle, factor.to(handle.dtype))


_PRODUCT = Maps(_product, _product, scaled)


def _at_places(t: Any, places: Any) -> Any:
    rows = t.reshape(-1, t.shape[-1])
    return torch.cat([torch.zeros_like(rows[:1]), rows])[places]


def _back(size: int, g: Any, places: Any) -> Any:
    rows = g.reshape(-1, g.shape[-1])
    return torch.zeros_like(rows[:1]).expand(size + 1, -1).index_add(0, places.reshape(-1), rows)[1:]


def moved(one_hot: Any, places: Any) -> Any:
    """Of the vectors at ``places``, which count from 1; at 0 there is none."""
    shape, size = one_hot.shape, one_hot.shape[:-1].numel()

    def pull(g: Any, places: Any) -> Any:
        return _back(size, g, places).reshape(shape)

    return linear((*places.shape, shape[-1]), Maps(_at_places, pull), one_hot, places)


def _spread(g: Any, factor: Any) -> Any:
    return g.unsqueeze(-1) * factor


def _chosen(t: Any, factor: Any) -> Any:
    return (t * factor).sum(-1)


def chosen(one_hot: Any, factor: Any) -> Any:
    """Of the entry of ``factor`` along the last axis that a one-hot vector says."""
    shape = torch.broadcast_shapes(one_hot.shape, factor.shape)[:-1]
    return linear(shape, _CHOICE, one_hot, factor.to(one_hot.dtype))


def _each_class(one_hot: Any, g: Any) -> Any:
    return scaled(one_hot, g.unsqueeze(-1))


_CHOICE = Maps(_chosen, _spread, _each_class)


def _rows(t: Any, table: Any) -> Any:
    return torch.tensordot(t, table, 1)


def _against_rows(g: Any, table: Any) -> Any:
    n = table.dim() - 1
    return torch.tensordot(g, table, (list(range(g.dim() - n, g.dim())), list(range(1, n + 1))))


def contracted(one_hot: Any, table: Any) -> Any:
    """Of ``table[i]``, the index ``i`` taken for its one-hot vector."""
    shape = (*one_hot.shape[:-1], *table.shape[1:])
    return linear(shape, _LOOK_UP, one_hot, table.to(one_hot.dtype))


def _by_class(t: Any, g: Any) -> Any:
    n = list(range(t.dim() - 1))
    return torch.tensordot(t, g, (n, n))


def _back_by_class(c: Any, g: Any) -> Any:
    n = c.dim() - 1
    return torch.tensordot(g, c, (list(range(g.dim() - n, g.dim())), list(range(1, n + 1))))


def _by_row(one_hot: Any, g: Any) -> Any:
    """Of the sum of ``g`` over where each class was looked up."""
    shape = (one_hot.shape[-1], *g.shape[one_hot.dim() - 1 :])
    return linear(shape, Maps(_by_class, _back_by_class), one_hot, g)


_LOOK_UP = Maps(_rows, _against_rows, _by_row)


def past(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """``function(*args, **kwargs)``, where no kernel for tensors with an origin has to look."""
    with _excluding(_KEYS):
        return function(*args, **kwargs)


def plus(found: Any, handle: Any) -> Any:
    """A float result with a derivative more: its value is the same to the last bit."""
    with _excluding(_KEYS):
        return found + handle
