"""How the conformance kit drives PyTorch."""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.autograd import forward_ad

Array = Any

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sign": torch.sign,
    "round": torch.round,
    "floor": torch.floor,
    "ceil": torch.ceil,
    "trunc": torch.trunc,
    "mod": torch.remainder,
    "fmod": torch.fmod,
    "floor_divide": torch.floor_divide,
    "heaviside": torch.heaviside,
    "clip": torch.clamp,
    "relu": torch.relu,
    "relu6": torch.nn.functional.relu6,
    "abs": torch.abs,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
}


def call(op: str, *inputs: Array, **attributes: Any) -> Array:
    """The op as a function of ``torch``."""
    return _FUNCTIONS[op](*inputs, **attributes)


def asarray(x: Any) -> Array:
    """A NumPy array as a tensor of its own memory."""
    if x.dtype.name == "bfloat16":  # ml_dtypes' type, which torch does not know
        return torch.from_numpy(x.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(np.array(x))


def numpy(x: Array) -> Any:
    """A tensor as a NumPy array."""
    plain = x.detach().cpu().resolve_neg()
    if plain.dtype is torch.bfloat16:
        import ml_dtypes

        return plain.contiguous().view(torch.int16).numpy().copy().view(ml_dtypes.bfloat16)
    return plain.numpy().copy()


def grad(f: Callable[..., Array], inputs: Sequence[Array], g: Array) -> tuple[Array, tuple[Array, ...]]:
    """``f(*inputs)`` and the cotangents of its inputs, differentiable again."""
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
        y, pull = torch.func.vjp(f, *inputs)
        return y, pull(g)
    leaves = [
        x if x.requires_grad or not x.is_floating_point() else x.detach().requires_grad_() for x in inputs
    ]
    with torch.enable_grad():
        y = f(*leaves)
    wanted = [x for x in leaves if x.requires_grad]
    if not y.requires_grad:
        return y, tuple(torch.zeros_like(x) for x in leaves)
    found = iter(torch.autograd.grad(y, wanted, g, create_graph=True, materialize_grads=True))
    return y, tuple(next(found) if x.requires_grad else torch.zeros_like(x) for x in leaves)


def jvp(f: Callable[..., Array], inputs: Sequence[Array], tangents: Sequence[Array]) -> tuple[Array, Array]:
    """``f(*inputs)`` and its tangent.

    ``torch.func.jvp`` does not take a compiled function (pytorch issue 128711); dual numbers do.
    """
    if hasattr(f, "_torchdynamo_orig_callable"):
        with forward_ad.dual_level():
            y = f(*map(forward_ad.make_dual, inputs, tangents))
            primal, slope = forward_ad.unpack_dual(y)
        return primal, torch.zeros_like(primal) if slope is None else slope
    if not torch.compiler.is_compiling():
        load_forward_mode()
    y, tangent = torch.func.jvp(f, tuple(inputs), tuple(tangents))
    return y, tangent


@functools.cache
def load_forward_mode() -> None:
    """Import what torch.func.jvp imports at its first call: it warns of its own use of TorchScript."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        importlib.import_module("torch._decomp.decompositions_for_jvp")


def residuals(f: Callable[..., Array], inputs: Sequence[Array]) -> int:
    """Bytes of the tensors that autograd saves while ``f(*inputs)`` runs."""
    sizes: list[int] = []

    def pack(x: Any) -> Any:
        sizes.append(x.numel() * x.element_size())
        return x

    leaves = [x.detach().requires_grad_(x.is_floating_point()) for x in inputs]
    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        f(*leaves)
    return sum(sizes)
