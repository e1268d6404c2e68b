"""Functions that a compiler must call and not trace: what they do is done now, not in each compiled call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

REASON = (
    "a surrogate override begins or ends inside a compiled function. The rules are read when the compiler "
    "traces, so put 'with surrogate.override(...)' around the call of the compiled function, or compile "
    "without fullgraph=True"
)


def untraced(function: F) -> F:
    """Mark it for PyTorch, as ``torch.compiler.disable`` would, but without importing anything.

    Here and not in the backend, which may be loaded by the very call that must not be traced.
    """
    function.__dict__.update(
        _torchdynamo_disable=True,
        _torchdynamo_disable_msg=REASON,
        _torchdynamo_disable_recursive=True,
    )
    return function
