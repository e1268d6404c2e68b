"""Whole functions with another gradient: eagerly, and while torch.compile reads the user's code."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from surrogate import Backend, FunctionGradient, FunctionKit, FunctionPull, State
from surrogate_torch import _graft, _namespace
from surrogate_torch._capture import needs_of
from surrogate_torch._imports import after_import
from surrogate_torch._plain import has_tangent, in_forward_mode
from surrogate_torch._scope import EVERY, Scope, flags, suspended

Array = Any
_graph_task = torch._C._current_graph_task_id
_functorch = torch._C._functorch


class Functions(FunctionKit):
    """The steps of a function's call that are PyTorch's."""

    xp = _namespace

    def __init__(self, backend: Backend) -> None:
        self._scope = Scope(backend)
        self._known: set[str] = set()

    def prepare(self, gradient: FunctionGradient) -> None:
        if gradient.path in self._known:
            return
        if not self._known:
            after_import("torch._dynamo", _follow_the_compiler)
        self._known.add(gradient.path)
        if "torch._dynamo" in sys.modules:
            torch.compiler.reset()  # what was compiled before may have read the function, without a guard

    def state(self) -> State | None:
        if flags.native is EVERY:
            return None
        return self._scope.state() if _graph_task() == -1 else self._scope.here("")

    def recording(self, leaves: Sequence[Any]) -> bool:
        return torch.is_grad_enabled() or in_forward_mode()

    def wants(self, arrays: Sequence[Array]) -> bool:
        return bool(needs_of(arrays))

    def flatten(self, tree: Any) -> tuple[list[Any], Callable[[Sequence[Any]], Any]]:
        leaves, shape = pytree.tree_flatten(tree)
        return leaves, lambda given: pytree.tree_unflatten(given, shape)

    def is_float(self, x: Any) -> bool:
        return isinstance(x, torch.Tensor) and x.is_floating_point()

    def detach(self, x: Array) -> Array:
        return x.detach()

    def like(self, x: Array, value: Array) -> Array | None:
        x = x.to(value.dtype)
        if x.shape == value.shape:
            return x
        if x.dim() > value.dim():
            return None
        ends = zip(reversed(x.shape), reversed(value.shape), strict=False)
        return x.expand(value.shape) if all(a in (1, b) for a, b in ends) else None

    def graft(self, value: Array, carrier: Array, closed: str = "") -> Array:
        return _graft.graft(value, carrier)

    def without_rules(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return suspended(EVERY, function, *args, **kwargs)

    def depends(self, values: Sequence[Array]) -> bool:
        return any(map(_carries, values))

    def members(self, owner: Any) -> dict[str, Any]:
        if not isinstance(owner, torch.nn.Module):
            return super().members(owner)
        own = {name: value for name, value in super().members(owner).items() if name[0] != "_"}
        return {**own, **dict(owner.named_parameters()), **dict(owner.named_buffers())}

    def with_formula(
        self, pull: FunctionPull, inputs: Sequence[Array], values: Sequence[Array], closed: str = ""
    ) -> list[Array]:
        token = _graft.remember(pull)
        try:
            return _graft.pull(list(inputs), [value.detach() for value in values], token)
        finally:
            _graft.forget(token)


def _follow_the_compiler() -> None:
    importlib.import_module("surrogate_torch._traced_functions")


def _carries(x: Any) -> bool:
    """Whether a tensor carries a derivative, at any level of torch.func."""
    while _functorch.is_functorch_wrapped_tensor(x):
        if not _functorch.is_batchedtensor(x) and (x.requires_grad or has_tangent(x)):
            return True
        x = _functorch.get_unwrapped(x)
    return bool(x.requires_grad or (in_forward_mode() and has_tangent(x)))
