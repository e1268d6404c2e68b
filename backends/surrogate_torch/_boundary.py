"""Where the compiler must not look: into ``use`` and ``override``, and into our own kernels.

An override that begins inside a compiled function makes the compiler step out there; the block then runs
eagerly, under the override. A function compiled with ``fullgraph=True`` cannot step out: the compiler
refuses it, with the text below. In what it stepped out of it still tries every Python function, and so it
would try our kernels, which are no code of a model.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
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
    import the compiler. They keep the compiler from tracing into a call; where it has stepped out, it would
    still look at the functions that run, hence :func:`hide`.
    """
    hide([_load_catalogue])
    _load_catalogue()
    hide(_core())
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


def _load_catalogue() -> None:
    """The first override of a process may begin inside a compiled function: then all of this runs there."""
    surrogate.ops()


def _core() -> Iterator[Callable[..., Any]]:
    """Every function and method of the core. The kit and the demo hold code that is there to be compiled."""
    for name, module in list(sys.modules.items()):
        package, _, rest = name.partition(".")
        if package == "surrogate" and not rest.startswith(("testing", "demo")):
            for value in list(vars(module).values()):
                if getattr(value, "__module__", None) == name:
                    members = vars(value).values() if isinstance(value, type) else (value,)
                    yield from (member for member in members if inspect.isfunction(member))


def hide(functions: Iterable[Callable[..., Any]]) -> None:
    """Keep the compiler out of these functions and of all that they call."""
    frames = torch._C._dynamo.eval_frame
    skip = frames._FrameAction.SKIP
    for code in {function.__code__ for function in functions}:
        frames.set_code_exec_strategy(code, frames._FrameExecStrategy(skip, skip))
