"""Tensors that are nothing but numbers in this machine's memory, and moments at which nobody looks on.

Only then may a derivative be computed by blocks of memory or by bits. PyTorch's own class says little: behind
it stand wrappers of transforms, negations that are still to be done, and tangents.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor
from torch.autograd import forward_ad
from torch.nn import Parameter

_in_transform = torch._C._are_functorch_transforms_active
_modes = torch._C._len_torch_dispatch_stack
_keys_of = torch._C._dispatch_keys
_unpack_dual = torch._C._VariableFunctions._unpack_dual


def _key_sets() -> frozenset[int]:
    """The dispatch keys of a dense tensor on a CPU: made in inference mode, or not."""
    keys, key_set = torch._C.DispatchKey, torch._C.DispatchKeySet
    inference = key_set(keys.CPU) | key_set(keys.AutocastCPU)
    usual = inference | key_set(keys.ADInplaceOrView) | key_set(keys.AutogradCPU)
    return frozenset({inference.raw_repr(), usual.raw_repr()})


_PLAIN = _key_sets()


def in_forward_mode() -> bool:
    """Whether tensors may carry tangents: inside ``dual_level``, or under any torch.func transform."""
    return bool(forward_ad._current_level >= 0 or _in_transform())


def has_tangent(x: Any) -> bool:
    """Whether a tensor carries a tangent.

    A compiled ``dual_level`` is entered behind the back of :mod:`torch.autograd.forward_ad`, so that
    :func:`in_forward_mode` does not know of it.
    """
    return not x.is_nested and _unpack_dual(x, 0)[1] is not None  # which a nested tensor cannot be asked


def is_large(x: Any, least: int) -> bool:
    """Whether it is a tensor of so many elements, of PyTorch's own class and with nothing around it."""
    return (type(x) is torch.Tensor or type(x) is Parameter) and x.numel() >= least and _has_plain_keys(x)


def is_plain(x: Any) -> bool:
    """Whether a tensor is of PyTorch's own class, with nothing around it and no tangent.

    To be asked only where :func:`is_watched` does not hold: below a mode PyTorch has no answer.
    """
    return is_large(x, 0) and not has_tangent(x)


def _has_plain_keys(x: Any) -> bool:
    return _keys_of(x).raw_repr() in _PLAIN


def is_stand_in(x: Any) -> bool:
    """Whether it is what torch.compile and torch.export trace with."""
    return isinstance(x, FakeTensor | FunctionalTensor)


def sees_ops(x: Any) -> bool:
    """Whether it is a tensor of a class of its own, such as a DTensor.

    Below the Autograd key it is handed operators that PyTorch takes apart there, ``&`` among them. DTensor
    makes something else of them, without a word.
    """
    return (
        type(x) is not torch.Tensor
        and type(x) is not Parameter
        and isinstance(x, torch.Tensor)
        and not is_stand_in(x)
    )


def is_watched() -> bool:
    """Whether the ops that run now are recorded, transformed or traced."""
    return torch.is_grad_enabled() or _in_transform() or not no_modes()


def no_modes() -> bool:
    """Whether nobody has entered a mode that sees every op."""
    return not _modes()
