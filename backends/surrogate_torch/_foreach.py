"""``torch._foreach_*``: one call for a list of tensors. Under a rule it is the op on each of them.

These functions are private to PyTorch and meant for optimisers, which record nothing; but a gradient through
one of them would otherwise be native without a word.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from functools import partial
from typing import Any

import torch

from surrogate_torch._layers import AUTOGRAD, Layer, Rank
from surrogate_torch._plain import in_forward_mode
from surrogate_torch._scope import Scope

_FUNCTIONS: dict[str, tuple[str, Callable[..., Any]]] = {
    "_foreach_sign": ("sign", torch.sign),
    "_foreach_round": ("round", torch.round),
    "_foreach_floor": ("floor", torch.floor),
    "_foreach_ceil": ("ceil", torch.ceil),
    "_foreach_trunc": ("trunc", torch.trunc),
    "_foreach_abs": ("abs", torch.abs),
    "_foreach_clamp_min": ("clip", torch.clamp_min),
    "_foreach_clamp_max": ("clip", torch.clamp_max),
}


def layers(ops: Container[str], scope: Scope) -> Iterator[Layer]:
    """The kernels over the functions of these ops."""
    for name, (op, function) in _FUNCTIONS.items():
        if op not in ops:
            continue
        for packet in (getattr(torch.ops.aten, name), getattr(torch.ops.aten, f"{name}_")):
            for overload in (getattr(packet, overload) for overload in packet.overloads()):
                if not any(argument.is_out for argument in overload._schema.arguments):
                    make = partial(_kernel, op, function, overload._schema.is_mutable, scope)
                    yield Layer(overload, AUTOGRAD, Rank.RULE, make)


def _kernel(op: str, function: Callable[..., Any], inplace: bool, scope: Scope, native: Any) -> Any:
    def kernel(keys: Any, tensors: Sequence[Any], *others: Any) -> Any:
        state = scope.here(op) if torch.is_grad_enabled() or in_forward_mode() else None
        if state is None or op not in state.rules:
            return native.call_boxed(keys, tensors, *others)
        operands = [other if isinstance(other, list | tuple) else [other] * len(tensors) for other in others]
        if not inplace:
            return [function(*inputs) for inputs in zip(tensors, *operands, strict=True)]
        for tensor, *rest in zip(tensors, *operands, strict=True):
            tensor.copy_(function(tensor.clone(), *rest))
        return None

    return kernel
