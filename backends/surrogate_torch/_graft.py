"""Two operators of ours that carry a whole function's gradient, in eager code and in a compiler's graph.

``graft`` has the values of one tensor and the derivative of another. ``pull`` has values, and for a
derivative what a formula makes of the upstream gradients.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad
from torch.autograd.function import _SingleLevelFunction

from surrogate_torch._capture import needs_of, tracing
from surrogate_torch._plain import is_large, no_modes
from surrogate_torch._scope import EVERY, suspended

_below_autograd = torch._C._AutoDispatchBelowAutograd
_after_autograd = torch._C._after_autograd_keyset
_in_transform = torch._C._are_functorch_transforms_active
_unpack_dual = torch._C._VariableFunctions._unpack_dual

LIBRARY = torch.library.Library("surrogate", "DEF")
LIBRARY.define("graft(Tensor value, Tensor carrier) -> Tensor")
LIBRARY.define("pull(Tensor[] inputs, Tensor[] values, str token) -> Tensor[]")
graft = torch.ops.surrogate.graft.default
pull = torch.ops.surrogate.pull.default

#: token -> how a formula is asked about one call: ``ask(inputs, values, upstream)`` and ``ask.push(...)``.
_ASKED: dict[str, Any] = {}
_fresh = itertools.count()


def remember(ask: Any) -> str:
    """A token for :data:`pull`."""
    token = f"{ask.digest}:{next(_fresh)}"
    _ASKED[token] = ask
    return token


def forget(token: str) -> None:
    """An eager call is recorded: its node has what it needs."""
    _ASKED.pop(token, None)


class _Graft(_SingleLevelFunction):
    """The node of ``graft``."""

    @staticmethod
    def forward(ctx: Any, modes: tuple[bool, bool] | None, keys: Any, value: Any, carrier: Any) -> Any:
        if modes is None and no_modes() and is_large(value, 0):
            return _own(value)
        return _in_modes(modes, lambda: graft.redispatch(keys & _after_autograd, value, carrier))

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return None, None, None, g

    @staticmethod
    def jvp(ctx: Any, _modes: None, _keys: None, _value: Any, tangent: Any) -> Any:
        return tangent.clone()  # an output's tangent may not be an input's

    @staticmethod
    def _compiled_autograd_key(ctx: Any) -> tuple[int]:
        return (ctx._autograd_function_id,)


class _Pull(_SingleLevelFunction):
    """The node of ``pull``."""

    @staticmethod
    def forward(ctx: Any, ask: Any, modes: Any, keys: Any, token: str, count: int, *tensors: Any) -> Any:
        inputs, values = list(tensors[:count]), list(tensors[count:])
        found = _in_modes(modes, lambda: pull.redispatch(keys & _after_autograd, inputs, values, token))
        ctx.ask, ctx.count = ask, count
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)
        return tuple(found)

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> Any:
        tensors = ctx.saved_tensors
        inputs, values = tensors[: ctx.count], tensors[ctx.count :]
        found = suspended(EVERY, ctx.ask, inputs, values, upstream)
        return (*(None,) * 5, *found, *(None,) * len(values))

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        nested = _in_transform()
        tensors = ctx.saved_tensors
        if nested:
            tensors = [_unpack_dual(t, 0)[0] for t in tensors]
        given = tangents[5 : 5 + ctx.count]
        with forward_ad._set_fwd_grad_enabled(nested):
            full = [torch.zeros_like(x) if t is None else t for t, x in zip(given, tensors, strict=False)]
            found = suspended(EVERY, ctx.ask.push, tensors[: ctx.count], tensors[ctx.count :], full)
        return tuple(found) if isinstance(found, tuple | list) else (found,)

    @staticmethod
    def _compiled_autograd_key(ctx: Any) -> tuple[int, int]:
        return (ctx._autograd_function_id, hash(ctx.ask.digest) & ((1 << 63) - 1))


def _in_modes(modes: tuple[bool, bool] | None, call: Callable[[], Any]) -> Any:
    """Run the op below autograd; under torch.func with the outer levels' modes restored."""
    if modes is None:
        with _below_autograd():
            return call()
    with _below_autograd(), torch.set_grad_enabled(modes[0]), forward_ad._set_fwd_grad_enabled(modes[1]):
        return call()


def _recorded(tensors: Sequence[Any], apply: Callable[[Any], Any], native: Callable[[], Any]) -> Any:
    """Record a node if a derivative by one of these is wanted."""
    if not needs_of(tensors):
        with _below_autograd():
            return native()
    if not _in_transform():
        return apply(None)
    with enable_single_level_autograd_function():
        return apply((torch.is_grad_enabled(), torch._C._is_fwd_grad_enabled()))


def _graft_autograd(keys: Any, value: Any, carrier: Any) -> Any:
    below = keys & _after_autograd
    return _recorded(
        (carrier,),
        lambda modes: _Graft.apply(modes, keys, value, carrier),
        lambda: graft.redispatch(below, value, carrier),
    )


def _pull_autograd(keys: Any, inputs: Sequence[Any], values: Sequence[Any], token: str) -> Any:
    ask, below = _ASKED[token], keys & _after_autograd
    found = _recorded(
        inputs,
        lambda modes: _Pull.apply(ask, modes, keys, token, len(inputs), *inputs, *values),
        lambda: pull.redispatch(below, inputs, values, token),
    )
    return list(found)


def _own(value: Any) -> Any:
    """A tensor of the same memory that is nobody's view: it may be changed in place like any result."""
    fresh = torch.empty(0, dtype=value.dtype, device=value.device)
    return fresh.set_(value.untyped_storage(), value.storage_offset(), value.size(), value.stride())


class _Batched:
    """A formula asked about each of many calls at once."""

    def __init__(self, ask: Any, axes: tuple[list[Any], list[Any]], size: int) -> None:
        self._ask, self._axes, self._size = ask, axes, size
        self.digest = f"{ask.digest}.batched"

    def __call__(self, inputs: Sequence[Any], values: Sequence[Any], upstream: Sequence[Any]) -> Any:
        given = [0 if g is not None else None for g in upstream]

        def one(inputs: Any, values: Any, upstream: Any) -> Any:
            found = self._ask(inputs, values, upstream)
            return tuple(torch.zeros_like(x) if c is None else c for c, x in zip(found, inputs, strict=True))

        asked = torch.func.vmap(one, in_dims=(*self._axes, given))(list(inputs), list(values), list(upstream))
        return tuple(
            c.movedim(0, axis) if axis is not None else c.sum(0)
            for c, axis in zip(asked, self._axes[0], strict=True)
        )

    def push(self, inputs: Sequence[Any], values: Sequence[Any], tangents: Sequence[Any]) -> Any:
        def one(inputs: Any, values: Any, tangents: Any) -> Any:
            found = self._ask.push(inputs, values, tangents)
            return tuple(found) if isinstance(found, tuple | list) else (found,)

        axes = (*self._axes, self._axes[0])
        return torch.func.vmap(one, in_dims=axes)(list(inputs), list(values), list(tangents))


def _graft_vmap(info: Any, axes: Any, value: Any, carrier: Any) -> Any:
    both = [
        x.movedim(axis, 0) if axis is not None else x.expand(info.batch_size, *x.shape)
        for x, axis in zip((value, carrier), axes, strict=True)
    ]
    return graft(*both), 0


def _pull_vmap(info: Any, axes: Any, inputs: Any, values: Any, token: str) -> Any:
    batched = [
        x.movedim(axis, 0) if axis is not None else x.expand(info.batch_size, *x.shape)
        for x, axis in zip(values, axes[1], strict=True)
    ]
    ask = _Batched(_ASKED[token], (list(axes[0]), [0] * len(batched)), info.batch_size)
    token = remember(ask)
    found = pull(list(inputs), batched, token)
    if tracing() is None:  # a graph that is being traced keeps its token
        forget(token)
    return list(found), [0] * len(batched)


def _install() -> None:
    LIBRARY.impl("graft", _graft_autograd, "Autograd", with_keyset=True)
    LIBRARY.impl("pull", _pull_autograd, "Autograd", with_keyset=True)
    LIBRARY.impl("graft", lambda value, carrier: value.clone(), "CompositeExplicitAutograd")
    LIBRARY.impl(
        "pull", lambda inputs, values, token: [v.clone() for v in values], "CompositeExplicitAutograd"
    )
    torch.library.register_vmap("surrogate::graft", _graft_vmap, lib=LIBRARY)
    torch.library.register_vmap("surrogate::pull", _pull_vmap, lib=LIBRARY)


_install()
