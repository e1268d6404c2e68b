"""Arrays and variables as tensors: what a gradient's parameters are where they are no numbers.

In eager mode a tensor per dtype and device is kept with the value. While a compiler traces, the value is what
an opaque op gives that finds it by its handle when the compiled code runs: a variable may then change, and
nothing is compiled again.
"""

from __future__ import annotations

import weakref
from threading import get_ident
from typing import Any

import torch
from torch._guards import TracingContext

import surrogate

_functorch = torch._C._functorch
_modes = torch._C._len_torch_dispatch_stack
_tracing = TracingContext.try_get

#: What this thread read while a compiler was tracing, and no value depends on yet: see :func:`tied`.
read: list[tuple[int, Any]] = []
#: What compiled code finds by its handle.
_values: weakref.WeakValueDictionary[str, surrogate.ParameterValue] = weakref.WeakValueDictionary()


def parameter(value: surrogate.ParameterValue, like: Any) -> Any:
    """The tensor of a value now, where ``like`` is and in its dtype, or float32 if that is narrower."""
    dtype = like.dtype if like.element_size() >= 4 else torch.float32
    if _tracing() is None and not _modes():
        return value.mirror(("torch", dtype, like.device), lambda array: _tensor(array, dtype, like.device))
    _values[value.handle] = value
    # no data of like's, and nothing of its gradients: an empty tensor that still depends on it, so that no
    # compiler takes the result for a constant
    found = _look_up(value.handle, like.new_empty((0,), dtype=dtype))
    if value.changes:
        read.append((get_ident(), found))
    return found


def tied(y: Any) -> Any:
    """The op's value, so that a compiler must have read this thread's variables before it is there.

    What the forward pass does not need a compiler would read in the backward pass, when the value may be
    another. A selection between two that are the same: the bits of ``y``, and fused with what is around it.
    """
    mine = [found for thread, found in read if thread == get_ident()]
    read[:] = [entry for entry in read if entry[0] != get_ident()]
    for found in mine:
        first = found.reshape(-1)[0]
        y = torch.where(first == first, y, y)
    return y


def _tensor(array: Any, dtype: Any, device: Any) -> Any:
    with torch.inference_mode(False):
        found = torch.from_numpy(array.astype("float32" if dtype is torch.float32 else "float64")).to(device)
    while _functorch.is_functorch_wrapped_tensor(found):  # a transform is gone before the value is
        found = _functorch.get_unwrapped(found)
    return found


def _find(handle: str, like: torch.Tensor) -> torch.Tensor:
    array = _values[handle].array
    return torch.tensor(array, dtype=like.dtype, device=like.device)


def _shape_alone(handle: str, like: torch.Tensor) -> torch.Tensor:
    return like.new_empty(_values[handle].shape)


def _same_for_all(info: Any, in_dims: Any, handle: str, like: torch.Tensor) -> tuple[torch.Tensor, None]:
    return _look_up(handle, like), None


_look_up = torch.library.custom_op("surrogate::parameter", _find, mutates_args=())
_look_up.register_fake(_shape_alone)
_look_up.register_vmap(_same_for_all)
