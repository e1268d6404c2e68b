"""How the conformance kit drives PyTorch."""

from __future__ import annotations

import functools
import importlib
import math
import operator
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812  (as everybody writes it)
from torch import nn
from torch.autograd import forward_ad

from surrogate import Driver, Spelling, UnknownNameError
from surrogate_torch import _uses

Array = Any
Function = Callable[..., Array]

_device: ContextVar[str] = ContextVar("surrogate_torch.driver_device", default="cpu")


def _in_place(name: str, **named: Any) -> Function:
    """The method that changes its tensor, on a tensor that may be changed."""
    return lambda x, *inputs: getattr(x.clone(), name)(*inputs, **named)


def _of_a_view(x: Array) -> Array:
    whole = torch.stack([x, x])
    whole[1].sign_()
    return whole[1]


def _plain(*names: str) -> dict[str, Function | Spelling]:
    """The functions of ``torch``, the methods, and the methods in place where there are, of these names."""
    found: dict[str, Function | Spelling] = {}
    for name in names:
        found |= {f"torch.{name}": getattr(torch, name), f"Tensor.{name}": getattr(torch.Tensor, name)}
        if hasattr(torch.Tensor, f"{name}_"):
            found[f"Tensor.{name}_"] = _in_place(f"{name}_")
    return found


_TENTHS = {"decimals": 1}
_UP, _DOWN = {"lo": -1.0, "hi": math.inf}, {"lo": -math.inf, "hi": 1.0}
_UNIT = {"lo": -1.0, "hi": 1.0}

#: What is written in other ways than ``_plain`` of the op's name says.
_SPELLINGS: dict[str, dict[str, Function | Spelling]] = {
    "sign": {**_plain("sign", "sgn"), "torch.ops": torch.ops.aten.sign.default, "of a view": _of_a_view},
    "round": {
        **_plain("round"),
        "torch.special.round": torch.special.round,
        "round(decimals=0)": lambda x: torch.round(x, decimals=0),
        "round(decimals=1)": Spelling(lambda x: torch.round(x, decimals=1), attributes=_TENTHS),
        "x.round(decimals=1)": Spelling(lambda x: x.round(decimals=1), attributes=_TENTHS),
        "round_(decimals=1)": Spelling(_in_place("round_", decimals=1), attributes=_TENTHS),
    },
    "trunc": _plain("trunc", "fix"),
    "mod": {
        **_plain("remainder"),
        "x % y": operator.mod,
        "x %= y": _in_place("__imod__"),
        "x % 0.75": Spelling(lambda x: x % 0.75, {"y": 0.75}),
        "2 % y": Spelling(lambda y: 2 % y, {"x": 2.0}),
        "remainder(2, y)": Spelling(lambda y: torch.remainder(2, y), {"x": 2.0}),
    },
    "fmod": {**_plain("fmod"), "fmod(x, 0.75)": Spelling(lambda x: torch.fmod(x, 0.75), {"y": 0.75})},
    "floor_divide": {
        **_plain("floor_divide"),
        "x // y": operator.floordiv,
        "x //= y": _in_place("__ifloordiv__"),
        "torch.div": functools.partial(torch.div, rounding_mode="floor"),
        "torch.divide": functools.partial(torch.divide, rounding_mode="floor"),
        "Tensor.div_": _in_place("div_", rounding_mode="floor"),
        "x // 2": Spelling(lambda x: x // 2, {"y": 2.0}),
        "2 // y": Spelling(lambda y: 2 // y, {"x": 2.0}),
        "div(2, y)": Spelling(lambda y: torch.div(2, y, rounding_mode="floor"), {"x": 2.0}),
    },
    "clip": {
        **_plain("clamp", "clip"),
        "x.clamp(max, min)": lambda x, lo, hi: x.clamp(max=hi, min=lo),
        "F.hardtanh": Spelling(F.hardtanh, _UNIT),
        "F.hardtanh_": Spelling(lambda x: F.hardtanh_(x.clone()), _UNIT),
        "nn.Hardtanh": Spelling(nn.Hardtanh(), _UNIT),
        "clamp(x, -1, 1)": Spelling(lambda x: torch.clamp(x, -1, 1), _UNIT),
        "clamp_max": Spelling(lambda x: torch.clamp_max(x, 1.0), _DOWN),
        "clamp_max(tensor)": Spelling(torch.clamp_max, {"lo": -math.inf}),
        "clamp_max_": Spelling(_in_place("clamp_max_"), {"lo": -math.inf}),
        "x.clamp(max=hi)": Spelling(lambda x, hi: x.clamp(max=hi), {"lo": -math.inf}),
        "clamp_min": Spelling(lambda x: torch.clamp_min(x, -1.0), _UP),
        "clamp_min(tensor)": Spelling(torch.clamp_min, {"hi": math.inf}),
        "clamp_min_": Spelling(_in_place("clamp_min_"), {"hi": math.inf}),
        "x.clamp(-1.0)": Spelling(lambda x: x.clamp(-1.0), _UP),
    },
    "relu": {
        **_plain("relu"),
        "F.relu": F.relu,
        "nn.ReLU": nn.ReLU(),
        "nn.ReLU(inplace)": lambda x: nn.ReLU(inplace=True)(x.clone()),
    },
    "relu6": {
        "F.relu6": F.relu6,
        "nn.ReLU6": nn.ReLU6(),
        "F.hardtanh(0, 6)": lambda x: F.hardtanh(x, 0.0, 6.0),
        "F.relu6(inplace)": lambda x: F.relu6(x.clone(), inplace=True),
    },
    "abs": {**_plain("abs", "absolute"), "abs(x)": abs},
    "maximum": {**_plain("maximum"), "torch.max": torch.max},
    "minimum": {**_plain("minimum"), "torch.min": torch.min},
}


class _Subclass(torch.Tensor):
    pass


class TorchDriver(Driver):
    """PyTorch by ``torch.autograd``, ``torch.func`` and ``torch.compile``."""

    def asarray(self, x: Any) -> Array:
        """A tensor that owns its memory; ml_dtypes' bfloat16 becomes torch's."""
        return asarray(np.asarray(x)).to(_device.get())

    @contextmanager
    def on(self, device: str) -> Iterator[None]:
        """A device of ``torch.device``, ``cuda``, ``cuda:1``. No mode of PyTorch's: ops run as always."""
        try:
            torch.zeros(1, device=device)
        except (RuntimeError, AssertionError) as error:
            raise UnknownNameError(
                f"PyTorch has no device {device!r} here: {str(error).splitlines()[0]}"
            ) from error
        token = _device.set(device)
        try:
            yield
        finally:
            _device.reset(token)

    def numpy(self, x: Array) -> Any:
        """A NumPy array; bfloat16 as ml_dtypes' type."""
        return numpy(x)

    def convertible(self) -> Mapping[str, Callable[[Any], Any]]:
        """Parameters, tensors of a subclass, and arrays of one."""
        return {
            "a subclass of NumPy's": lambda x: x.view(np.memmap),
            "a Parameter": lambda x: nn.Parameter(self.asarray(x)),
            "a tensor of a subclass": lambda x: self.asarray(x).as_subclass(_Subclass),
        }

    def spellings(self, op: str) -> Mapping[str, Function | Spelling]:
        """Functions, methods, methods in place, operators and modules."""
        return _SPELLINGS.get(op) or _uses.SPELLINGS.get(op) or _plain(op)

    def consumers(self) -> Mapping[str, Mapping[str, Function]]:
        """Functions, methods, methods in place and operators."""
        return _uses.CONSUMERS

    def grad(self, f: Function, inputs: Sequence[Array], g: Array) -> tuple[Array, tuple[Array, ...]]:
        """Eagerly with ``torch.autograd.grad``; under a transform or compiler with ``torch.func.vjp``."""
        return grad(f, inputs, g)

    def jvp(self, f: Function, inputs: Sequence[Array], tangents: Sequence[Array]) -> tuple[Array, Array]:
        """``torch.func.jvp``."""
        return jvp(f, inputs, tangents)

    def compile(self, f: Function) -> Function:
        """``torch.compile(fullgraph=True)`` without code generation, which changes no derivative."""
        load_forward_mode()
        torch.compiler.reset()  # a kit compiles one function's code more often than the compiler allows
        compiled: Function = torch.compile(f, backend="aot_eager", fullgraph=True)
        return compiled

    def vmap(self, f: Function) -> Function:
        """``torch.func.vmap``."""
        mapped: Function = torch.func.vmap(f)
        return mapped

    def residuals(self, f: Function, inputs: Sequence[Array]) -> int:
        """Bytes of the tensors that autograd saves."""
        return residuals(f, inputs)


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
