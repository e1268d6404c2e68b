"""Where the compiler must not look: into ``use`` and ``override``, and into our own kernels.

An override that begins inside a compiled function makes the compiler step out there; the block then runs
eagerly, under the override. A function compiled with ``fullgraph=True`` cannot step out: the compiler
refuses it, with the text below. In what it stepped out of it still tries every Python function, and so it
would try our kernels, which are no code of a model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

import surrogate
from surrogate import Backend

_REASON = (
    "a surrogate override begins or ends inside a compiled function. The rules are read when the compiler "
    "traces, so put 'with surrogate.override(...)' around the call of the compiled function, or compile "
    "without fullgraph=True"
)


def mark(backend: Backend) -> None:
    """Tell the compiler not to trace the core's ``use`` and ``override``; once per process.

    These attributes are what ``torch.compiler.disable`` sets; it is not called here because it would
    import the compiler.
    """
    store = type(backend.store)
    for function in (
        surrogate.Override.__init__,
        surrogate.ScopedOverride.__init__,
        surrogate.ScopedOverride.__enter__,
        surrogate.ScopedOverride.__exit__,
        surrogate.ProcessOverride.__init__,
        surrogate.ProcessOverride.__exit__,
        surrogate.ProcessOverride.undo,
        store.push,
        store.pop,
        store.exactly,
    ):
        function.__dict__.update(
            _torchdynamo_disable=True,
            _torchdynamo_disable_msg=_REASON,
            _torchdynamo_disable_recursive=True,
        )


def hide(functions: Iterable[Callable[..., Any]]) -> None:
    """Keep the compiler out of these functions and of all that they call."""
    frames = torch._C._dynamo.eval_frame
    skip = frames._FrameAction.SKIP
    for code in {function.__code__ for function in functions}:
        frames.set_code_exec_strategy(code, frames._FrameExecStrategy(skip, skip))
