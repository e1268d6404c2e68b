"""Operators that take functions: ``cond``, ``map``, ``scan``, ``while_loop`` and their like.

Their backward runs or traces the functions again, when the override that was in force may be over, or another
one may have begun. It does so under the rules that their forward saw, as a checkpoint does.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from typing import Any

from torch.autograd import Function

from surrogate import Backend

_PACKAGE = "torch._higher_order_ops."


def bind_operators(backend: Backend) -> None:
    """Give each of them the state of its forward; once per process.

    One whose forward ran before this had no rules: its backward has none.
    """
    for node in list(_nodes()):
        _bind(backend, node)


def _nodes() -> Iterator[Any]:
    """Their autograd functions; ``import torch`` has loaded them all."""
    for name, module in list(sys.modules.items()):
        if name.startswith(_PACKAGE):
            for value in vars(module).values():
                if isinstance(value, type) and issubclass(value, Function) and value.__module__ == name:
                    yield value


def _bind(backend: Backend, node: Any) -> None:
    plain_forward, plain_backward = node.forward, node.backward

    @functools.wraps(plain_forward)
    def forward(ctx: Any, *args: Any) -> Any:
        ctx._surrogate_state = backend.state()
        return plain_forward(ctx, *args)

    @functools.wraps(plain_backward)
    def backward(ctx: Any, *args: Any) -> Any:
        with backend.exactly(getattr(ctx, "_surrogate_state", None)):
            return plain_backward(ctx, *args)

    node.forward, node.backward = staticmethod(forward), staticmethod(backward)
