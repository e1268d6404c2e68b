"""Where the compiler must not look: into ``use`` and ``override``, and into our own kernels.

An override that begins inside a compiled function makes the compiler step out there; the block then runs
eagerly, under the override. A function compiled with ``fullgraph=True`` cannot step out: the compiler
refuses it, in the core's words. In what it stepped out of it still tries every Python function, and so it
would try our kernels, which are no code of a model.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

import surrogate
from surrogate_torch import _hooks


def mark(backend: type) -> None:
    """Keep the compiler out of the core, and let it know objects of this class; once per process.

    The core itself says of ``use`` and ``override`` that they are not to be traced into. Where the compiler
    has stepped out there, it would still look at the functions that run.
    """
    _watching.append(surrogate.when_imported(["torch._dynamo"], lambda _: _teach(backend)))
    _watching[-1].__enter__()
    hide([_load_catalogue])
    _load_catalogue()
    hide(_core())


_watching: list[Any] = []


def _teach(backend: type) -> None:
    """Tell the compiler of overrides, once it is there: loading it takes a second."""
    _hooks.probe(_hooks.COMPILER_HOOKS)
    from surrogate_torch import _in_graph

    _in_graph.install(backend)


def _load_catalogue() -> None:
    """The first override of a process may begin inside a compiled function: then all of this runs there."""
    surrogate.ops()


def _core() -> Iterator[Callable[..., Any]]:
    """Every function and method of the core. Some modules hold code that is there to be compiled."""
    for name, module in list(sys.modules.items()):
        package, _, rest = name.partition(".")
        if package == "surrogate" and not rest.startswith(("testing", "demo", "_attached")):
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
